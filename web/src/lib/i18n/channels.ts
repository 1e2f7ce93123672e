import type { Schemas } from '../api/client';
import { dictionary, type Word } from './index.svelte';

export type Channel = Schemas['ChannelName'];

/** Names of the channels: the services in which agents and people talk. */
export const channelNames: Record<Channel, Word> = dictionary({
  discord: { ko: 'Discord', en: 'Discord' },
  telegram: { ko: 'Telegram', en: 'Telegram' },
  slack: { ko: 'Slack', en: 'Slack' },
});

export const isChannel = (text: string): text is Channel => text in channelNames;

/** The channel of a place, a thread or a message by its id: those of Discord are numbers, the others begin with its name. */
export function channelOf(id: string): Channel {
  const name = id.split(':', 1)[0]!;
  return isChannel(name) ? name : 'discord';
}

/** The channel of a session key such as `agent:eden:telegram:group:-1001234`; null for a session that is in none. */
export function channelOfSession(key: string): Channel | null {
  const name = /^agent:[^:]+:([^:]+):/.exec(key)?.[1] ?? '';
  return isChannel(name) ? name : null;
}
