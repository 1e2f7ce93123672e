import { describe, expect, it } from 'vitest';
import { channelOf, channelOfSession } from './channels';

describe('the channel of an id', () => {
  it.each([
    ['1404000000000000030', 'discord'],
    ['telegram:-1001234:topic:7', 'telegram'],
    ['slack:c0ab:1700000000.000100', 'slack'],
  ] as const)('%s is in %s', (id, channel) => expect(channelOf(id)).toBe(channel));

  it.each([
    ['agent:eden:telegram:group:-1001234:topic:7', 'telegram'],
    ['agent:eden:slack:channel:c0ab', 'slack'],
    ['agent:eden:discord:channel:7', 'discord'],
    ['agent:eden:main', null],
    ['agent:eden:direct:7', null],
  ] as const)('the session %s is in %s', (key, channel) => expect(channelOfSession(key)).toBe(channel));
});
