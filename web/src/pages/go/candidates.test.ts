import { describe, expect, it } from 'vitest';
import { candidates } from './candidates';

const kinds = (text: string) => candidates(text).map(({ kind }) => kind);
const first = (text: string) => candidates(text)[0];

describe('candidates', () => {
  it('knows tasks and work sessions by their form', () => {
    expect(candidates('task_aa11')).toEqual([{ kind: 'task', id: 'task_aa11' }]);
    expect(candidates('ws_d8417358-1569')).toEqual([{ kind: 'session', id: 'ws_d8417358-1569' }]);
    expect(candidates(' ws:ws_d8417358-1569 ')).toEqual([{ kind: 'session', id: 'ws_d8417358-1569' }]);
  });
  it('takes numbers as seqs, long ones as ids of Discord', () => {
    expect(candidates('431')).toEqual([{ kind: 'event', id: '431' }]);
    expect(candidates('seq 431')).toEqual([{ kind: 'event', id: '431' }]);
    expect(candidates('#431')).toEqual([{ kind: 'event', id: '431' }]);
    expect(first('1465892000000000001')).toEqual({ kind: 'message', id: '1465892000000000001' });
  });
  it('takes the message out of a link to Discord', () => {
    const id = '1465892000000000001';
    expect(first(`https://discord.com/channels/111/222/${id}`)).toEqual({ kind: 'message', id });
    expect(first(`https://ptb.discord.com/channels/@me/222/${id}`)).toEqual({ kind: 'message', id });
  });
  it.each([
    ['https://t.me/c/1234567890/55', 'telegram:-1001234567890:55'],
    ['https://t.me/c/1234567890/7/55', 'telegram:-1001234567890:55'],
    ['https://lab.slack.com/archives/C0AB/p1700000000000100', 'slack:c0ab:1700000000.000100'],
    [
      'https://lab.slack.com/archives/C0AB/p1700000000000100?thread_ts=1.000001&cid=C0AB',
      'slack:c0ab:1700000000.000100',
    ],
    ['telegram:-1001234567890:55', 'telegram:-1001234567890:55'],
    ['slack:c0ab:1700000000.000100', 'slack:c0ab:1700000000.000100'],
  ])('takes the message out of %s', (text, id) => {
    expect(first(text)).toEqual({ kind: 'message', id });
  });
  it.each(['https://lab.slack.com/archives/C0AB', 'https://discord.com/channels/111/222', 'https://example.com/c/1/2'])(
    'knows no message in %s',
    (text) => expect(kinds(text)).not.toContain('message'),
  );
  it('tries a UUID as what a trace starts with first', () => {
    expect(first('948d3329-6c87-409e-aa7f-770d9106fd28')!.kind).toBe('trace');
    expect(first('conv:948d3329-6c87-409e-aa7f-770d9106fd28')).toEqual({
      kind: 'trace',
      id: '948d3329-6c87-409e-aa7f-770d9106fd28',
    });
  });
  it('takes a text with a slash as queued work', () => {
    expect(first('mail/42')).toEqual({ kind: 'work', id: 'mail/42' });
  });
  it('tries other texts as a name first, and as everything that has free ids', () => {
    expect(first('eden')).toEqual({ kind: 'agent', id: 'eden' });
    expect(kinds('continuation:eden:5:continue')).toContain('trace');
  });
  it('has nothing to try for nothing', () => {
    expect(candidates('  ')).toEqual([]);
  });
});
