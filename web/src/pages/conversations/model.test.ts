import { beforeAll, describe, expect, it } from 'vitest';
import { locale } from '$lib/i18n/index.svelte';
import {
  chosen,
  entriesOf,
  entryOf,
  grouped,
  filterOf,
  heldOrder,
  shifted,
  rowsOf,
  sameTitles,
  type Event,
  type Session,
  type Thread,
} from './model';
import { toMarkdown } from './details/export';

const start = Date.parse('2026-11-22T14:50:00Z');

function event(seq: number, type: string, minutes: number, more: Record<string, unknown> = {}): Event {
  const { data, ...members } = more;
  return {
    seq,
    type,
    id: `id-${seq}`,
    time: start + minutes * 60_000,
    from: 'eden',
    to: 'ieum',
    eventRole: 'conversation.main',
    displayText: `text ${seq}`,
    data: { conversationId: 'c1', ...(data as object) },
    ...members,
  } as unknown as Event;
}

const thread = (id: string, events: Event[], more: Partial<Thread> = {}): Thread =>
  ({ id, conversationId: id.slice(5), fromAgent: 'eden', toAgent: 'ieum', events, ...more }) as Thread;

const began = new Map([['conv:c1', 'eden']]);

beforeAll(() => {
  locale.zone = 'Asia/Seoul';
});

describe('rows', () => {
  it('have a divider for each day of the shown zone', () => {
    // 23:50 and 00:20 in Seoul, although both are the same day in UTC.
    const entries = [event(1, 'a2a.send', 0), event(2, 'a2a.response', 30), event(3, 'a2a.response', 31)].map((e) =>
      entryOf(e, 'conv:c1'),
    );
    expect(rowsOf(entries, began, null).map(({ kind }) => kind)).toEqual([
      'day',
      'message',
      'day',
      'message',
      'message',
    ]);
    locale.zone = 'UTC';
    expect(rowsOf(entries, began, null).map(({ kind }) => kind)).toEqual(['day', 'message', 'message', 'message']);
    locale.zone = 'Asia/Seoul';
  });

  it('stand left for who began, right for the other, and left for third parties', () => {
    const entries = [
      event(1, 'a2a.send', 0),
      event(2, 'a2a.response', 1, { from: 'ieum', to: 'eden' }),
      event(3, 'a2a.response', 2, { from: 'seum', to: 'ruda' }),
    ].map((e) => entryOf(e, 'conv:c1'));
    const rights = rowsOf(entries, began, null).flatMap((row) => (row.kind === 'message' ? [row.right] : []));
    expect(rights).toEqual([false, true, false]);
  });

  it('have the unread line before the first event after what was seen, never above everything', () => {
    const entries = [1, 2, 3].map((seq) => entryOf(event(seq, 'a2a.response', seq), 'conv:c1'));
    expect(rowsOf(entries, began, 2).map(({ key }) => key)).toEqual(['day 1', 'e1', 'e2', 'unread', 'e3']);
    expect(rowsOf(entries, began, 3).some(({ kind }) => kind === 'unread')).toBe(false);
    expect(rowsOf(entries, began, 0).some(({ kind }) => kind === 'unread')).toBe(false);
    expect(rowsOf(entries, began, null).some(({ kind }) => kind === 'unread')).toBe(false);
  });

  it('turn a missing answer into one card, never a message', () => {
    const entries = [
      event(1, 'a2a.send', 0),
      event(2, 'a2a.retry', 1, { data: { attempt: 1 } }),
      event(3, 'a2a.response', 5, {
        from: 'ieum',
        to: 'eden',
        state: 'blocked',
        reason: 'LLM request rejected: context too long',
        reasonCode: 'context_too_long',
        data: { waitStatus: 'error', waitError: 'LLM request rejected', message: 'never shown' },
      }),
      event(4, 'a2a.complete', 5, { state: 'blocked', data: { waitStatus: 'timeout' } }),
    ].map((e) => entryOf(e, 'conv:c1'));
    const rows = rowsOf(entries, began, null);
    expect(rows.map(({ kind }) => kind)).toEqual(['day', 'message', 'line', 'outcome', 'line']);
    const card = rows.find((row) => row.kind === 'outcome');
    expect(card).toMatchObject({
      card: {
        state: 'blocked',
        who: 'ieum',
        reasonCode: 'context_too_long',
        reason: 'LLM request rejected: context too long',
        waitStatus: 'error',
        waitError: 'LLM request rejected',
        waitedMs: 300_000,
        attempts: 2,
      },
    });
  });

  it('count what was tried for an answer, whether the process is shown or not', () => {
    const entries = [
      event(1, 'a2a.send', 0),
      event(2, 'a2a.retry', 1, { data: { attempt: 1 } }),
      event(3, 'a2a.retry', 2, { data: { attempt: 2 } }),
      event(4, 'a2a.response', 5, { from: 'ieum', to: 'eden', state: 'blocked' }),
    ].map((e) => entryOf(e, 'conv:c1'));
    for (const process of [true, false]) {
      const shown = chosen(entries, thread('conv:c1', []), process);
      const card = rowsOf(shown, began, null, entries).find((row) => row.kind === 'outcome');
      expect(card).toMatchObject({ card: { attempts: 3, waitedMs: 300_000 } });
    }
  });

  it('do not say how long was waited when the silent side spoke last', () => {
    const entries = [
      event(1, 'a2a.response', 0, { from: 'ieum', to: 'eden' }),
      event(2, 'a2a.response', 5, { from: 'ieum', to: 'eden', state: 'blocked' }),
    ].map((e) => entryOf(e, 'conv:c1'));
    const card = rowsOf(entries, began, null).find((row) => row.kind === 'outcome');
    expect(card).toMatchObject({ card: { who: 'ieum', waitedMs: null } });
  });

  it('have a card for an exchange that ended without any answer', () => {
    const entries = [
      event(1, 'a2a.send', 0),
      event(2, 'a2a.complete', 2, { state: 'no_reply', displayText: undefined }),
    ].map((e) => entryOf(e, 'conv:c1'));
    const card = rowsOf(entries, began, null).find((row) => row.kind === 'outcome');
    expect(card).toMatchObject({ card: { state: 'no_reply', who: 'ieum', waitedMs: 120_000, reasonCode: null } });
  });

  it('take five thousand events quickly', () => {
    const entries = Array.from({ length: 5000 }, (_, seq) => entryOf(event(seq, 'a2a.response', seq), 'conv:c1'));
    const before = performance.now();
    const rows = rowsOf(entries, began, null);
    expect(rows.filter(({ kind }) => kind === 'message')).toHaveLength(5000);
    expect(performance.now() - before).toBeLessThan(500);
  });
});

describe('entries', () => {
  it('are by time, with their threads', () => {
    const entries = entriesOf([
      thread('conv:c1', [event(1, 'a2a.send', 0), event(4, 'a2a.response', 3)]),
      thread('conv:c2', [event(5, 'a2a.response', 2)]),
    ]);
    expect(entries.map(({ seq, thread }) => [seq, thread])).toEqual([
      [1, 'conv:c1'],
      [5, 'conv:c2'],
      [4, 'conv:c1'],
    ]);
  });

  it('are asked for as far as they are shown', () => {
    expect(filterOf('conv:c1', false, false)).toEqual({ thread: 'conv:c1' });
    expect(filterOf('conv:c1', true, true)).toEqual({ thread: 'conv:c1' });
    expect(filterOf('conv:c1', true, false)).toEqual({});
    expect(filterOf(undefined, false, false)).toEqual({ role: ['conversation.main'] });
    expect(filterOf(undefined, false, true)).toEqual({});
  });

  it('are known to be put in front of others', () => {
    const isShifted = shifted<number>((item) => (item === 0 ? null : item));
    const lists = [[], [5, 6], [5, 6, 7], [0, 3, 4, 5, 6, 7], [0, 3, 4, 5], [8, 9], [7, 8, 9, 10], [9, 10, 11]];
    expect(lists.map(isShifted)).toEqual([false, false, false, true, false, false, true, true]);
  });

  it('read records of any shape', () => {
    const odd = {
      seq: 9,
      type: 'a2a.send',
      time: 'not a time',
      from: 7,
      data: null,
      state: 'happy',
    } as unknown as Event;
    expect(entryOf(odd, '')).toMatchObject({ time: 0, from: '', text: '', state: null, data: {} });
  });

  it('are chosen: messages, and with the process what happened around them', () => {
    const c1 = thread('conv:c1', [event(1, 'a2a.send', 0), event(2, 'a2a.complete', 1)]);
    const c2 = thread('conv:c2', [event(3, 'a2a.send', 2, { data: { conversationId: 'c2' } })]);
    const sub = thread('conv:c3', [
      event(4, 'a2a.spawn', 3, {
        eventRole: 'delegation.subagent',
        data: { conversationId: 'c3', parentConversationId: 'c1' },
      }),
      event(5, 'a2a.send', 3, { eventRole: 'delegation.subagent', data: { conversationId: 'c3' } }),
    ]);
    const task = thread('pair:eden_unknown', [
      event(6, 'task.completed', 4, { eventRole: 'orchestration.task', data: { conversationId: undefined } }),
    ]);
    const entries = entriesOf([c1, c2, sub, task]);
    const seqs = (thread: Thread | null, process: boolean) => chosen(entries, thread, process).map(({ seq }) => seq);
    expect(seqs(c1, false)).toEqual([1]);
    expect(seqs(c1, true)).toEqual([1, 2, 4, 6]);
    expect(seqs(sub, false)).toEqual([5]);
    expect(seqs(null, false)).toEqual([1, 3]);
    expect(seqs(null, true)).toEqual([1, 2, 3, 4, 6]);
  });
});

describe('list', () => {
  const session = (workSessionId: string, title: string, collabCategory = 'infra_ops') =>
    ({ workSessionId, title, collabCategory }) as Session;

  it('finds equal titles', () => {
    expect(sameTitles([session('a', 'x'), session('b', 'y'), session('c', 'x')])).toEqual(new Set(['x']));
  });

  it('groups by category in the order of the newest', () => {
    const all = [session('a', '1', 'infra_ops'), session('b', '2', 'qa_validation'), session('c', '3', 'infra_ops')];
    expect(grouped(all, true).map(({ category, sessions }) => [category, sessions.length])).toEqual([
      ['infra_ops', 2],
      ['qa_validation', 1],
    ]);
    expect(grouped(all, false)).toEqual([{ category: null, sessions: all }]);
  });

  it('keeps its order and counts what is new', () => {
    expect(heldOrder(['c', 'b', 'a'], (item) => item, ['a', 'b', 'gone'])).toEqual({ items: ['a', 'b'], fresh: 1 });
  });
});

it('exports messages with who, to whom and when', () => {
  const rows = rowsOf([entryOf(event(1, 'a2a.send', 0), 'conv:c1')], began, null);
  expect(
    toMarkdown(
      'Title',
      rows,
      (id) => id.toUpperCase(),
      () => '23:50',
    ),
  ).toBe('# Title\n\n**EDEN → IEUM** · 23:50 · seq 1\n\ntext 1\n');
});
