import type { Schemas } from '$lib/api/client';
import { dayKey } from '$lib/i18n/format';
import type { Outcome } from '$lib/i18n/codes';

export type Session = Schemas['WorkSession'];
export type Thread = Schemas['Thread'];
export type Event = Schemas['Event'];

/** Part of a text, as the server divides it: plain text, a person, or a task. */
export type Part =
  | { text: string }
  | { mention: { userId: string; agentId?: string; name?: string } }
  | { ref: { kind: string; id: string; title: string } };

/** An event with the members that the page shows, read with care: records of older programs may contain anything. */
export interface Entry {
  seq: number;
  type: string;
  time: number;
  from: string;
  to: string;
  role: string;
  text: string;
  parts: Part[] | null;
  state: Outcome | null;
  reason: string | null;
  reasonCode: string | null;
  redacted: boolean;
  thread: string;
  data: Record<string, unknown>;
  event: Event;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const textIn = (data: Record<string, unknown>, key: string): string => textOf(data[key]);
export function numberIn(data: Record<string, unknown>, key: string): number {
  const value = data[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function timeOf(value: unknown): number {
  const ms = typeof value === 'string' ? Date.parse(value) : Number(value);
  return Number.isFinite(ms) ? ms : 0;
}

/** The event as an entry of a thread. */
export function entryOf(event: Event, thread: string): Entry {
  const record = event as Record<string, unknown>;
  const state = textOf(event.state);
  return {
    seq: event.seq,
    type: event.type,
    time: timeOf(event.time),
    from: textOf(event.from),
    to: textOf(event.to),
    role: event.eventRole,
    text: textOf(event.displayText),
    parts: Array.isArray(record.displayParts) ? (record.displayParts as Part[]) : null,
    state: state === 'blocked' || state === 'no_reply' ? state : null,
    reason: textOf(event.reason) || null,
    reasonCode: textOf(record.reasonCode) || null,
    redacted: event.redacted === true,
    thread,
    data: (event.data ?? {}) as Record<string, unknown>,
    event,
  };
}

/** Key of the thread to which a new event belongs, by its conversation; '' if only the server knows it. */
export function threadOf(event: Event): string {
  const conversation = textOf((event.data as Record<string, unknown> | undefined)?.conversationId);
  return conversation && `conv:${conversation}`;
}

/** All events of threads, by time. */
export function entriesOf(threads: readonly Thread[]): Entry[] {
  const entries = threads.flatMap(({ id, events }) => (events ?? []).map((event) => entryOf(event, id)));
  return entries.sort((a, b) => a.time - b.time || a.seq - b.seq);
}

/** What of a work session has to be read to show a thread or all of it: the process, and its tasks, are in other threads too. */
export function filterOf(
  thread: string | undefined,
  process: boolean,
  all: boolean,
): { thread?: string; role?: Schemas['Role'][] } {
  if (thread !== undefined) return process && !all ? {} : { thread };
  return process || all ? {} : { role: ['conversation.main'] };
}

/**
 * Tells for each next list whether rows were put in front of the one before, or taken away there: then what is seen keeps its distance from
 * the end. Keys that are null are not looked at.
 */
export function shifted<T>(keyOf: (item: T) => string | number | null): (items: readonly T[]) => boolean {
  let first: string | number | null = null;
  let before: readonly T[] = [];
  return (items) => {
    const [oldFirst, old] = [first, before];
    [first, before] = [null, items];
    for (let at = 0; at < items.length && first === null; at++) first = keyOf(items[at]!);
    if (oldFirst === null || first === null || first === oldFirst) return false;
    return items.some((item) => keyOf(item) === oldFirst) || old.some((item) => keyOf(item) === first);
  };
}

/** What is known about an exchange that ended without an answer. */
export interface Card {
  state: Outcome;
  /** The agent that did not answer. */
  who: string;
  reasonCode: string | null;
  /** Text of the server. */
  reason: string | null;
  waitStatus: string | null;
  waitError: string | null;
  /** From the question to the end of the wait; null if the question is not known. */
  waitedMs: number | null;
  /** The first attempt and those that were repeated. */
  attempts: number;
}

export type Row =
  | { kind: 'day'; key: string; time: number }
  | { kind: 'unread'; key: string }
  | { kind: 'message'; key: string; entry: Entry; right: boolean }
  | { kind: 'outcome'; key: string; entry: Entry; card: Card }
  | { kind: 'line'; key: string; entry: Entry };

const spoken = new Set(['a2a.send', 'a2a.response']);
export const isMessage = (entry: Entry): boolean => spoken.has(entry.type) && entry.state === null;

/** Which entries of a work session belong to what is open: one thread with the process around it, or all main conversations. */
export function chosen(entries: readonly Entry[], thread: Thread | null, process: boolean): Entry[] {
  return entries.filter((entry) => {
    const own = thread === null ? entry.role === 'conversation.main' : entry.thread === thread.id;
    if (own && (spoken.has(entry.type) || process)) return true;
    // An exchange may end without an answer that could be a message.
    if (own && entry.state !== null) return true;
    if (!process) return false;
    if (thread === null) return entry.role !== 'delegation.subagent' || entry.type.startsWith('a2a.spawn');
    const parent = textIn(entry.data, 'parentConversationId');
    if (parent !== '' && parent === thread.conversationId) return entry.type.startsWith('a2a.spawn');
    return entry.role === 'orchestration.task' && textIn(entry.data, 'conversationId') === '';
  });
}

/**
 * The rows of a thread in order: a divider for each day, messages left and right, a card where an answer is missing, and one line for
 * everything else. `began` is the agent that stands left, by thread. The unread line comes before the first entry after `seen`. `all` are the
 * entries to which these belong: what was tried for an answer counts, whether it is shown or not.
 */
export function rowsOf(
  entries: readonly Entry[],
  began: ReadonlyMap<string, string>,
  seen: number | null,
  all: readonly Entry[] = entries,
): Row[] {
  const rows: Row[] = [];
  const waits = waitsOf(all);
  const told = new Set<string>();
  let shownDay = '';
  const dayOf = days();
  let unread = seen === null;
  for (const entry of entries) {
    const today = dayOf(entry.time);
    if (today !== shownDay) rows.push({ kind: 'day', key: `day ${entry.seq}`, time: entry.time });
    shownDay = today;
    if (!unread && seen !== null && entry.seq > seen && (isMessage(entry) || entry.state !== null)) {
      if (rows.some((row) => row.kind !== 'day')) rows.push({ kind: 'unread', key: 'unread' });
      unread = true;
    }
    const key = `e${entry.seq}`;
    if (isMessage(entry)) {
      told.delete(entry.thread);
      const left = began.get(entry.thread);
      rows.push({ kind: 'message', key, entry, right: left !== undefined && left !== entry.from && left === entry.to });
    } else if (entry.state !== null && !told.has(entry.thread)) {
      told.add(entry.thread);
      rows.push({ kind: 'outcome', key, entry, card: cardOf(entry, waits.get(entry.seq)) });
    } else rows.push({ kind: 'line', key, entry });
  }
  return rows;
}

/** What each entry with a state had waited for, by its seq. */
function waitsOf(entries: readonly Entry[]): Map<number, Wait> {
  const found = new Map<number, Wait>();
  const open = new Map<string, Wait>();
  for (const entry of entries) {
    const wait = open.get(entry.thread) ?? nothingKnown;
    if (isMessage(entry)) open.set(entry.thread, { since: entry.time, from: entry.from, attempts: 1 });
    else if (entry.type === 'a2a.retry') open.set(entry.thread, { ...wait, attempts: wait.attempts + 1 });
    if (entry.state !== null) found.set(entry.seq, wait);
  }
  return found;
}

/** Days of times. Midnight falls on a quarter of an hour in every zone, so the slow formatter is asked once for each quarter. */
function days(): (time: number) => string {
  const known = new Map<number, string>();
  return (time) => {
    const quarter = Math.floor(time / 900_000);
    let key = known.get(quarter);
    if (key === undefined) known.set(quarter, (key = dayKey(time)));
    return key;
  };
}

/** The last message of a thread, and the attempts to get an answer to it. */
interface Wait {
  since: number | null;
  from: string;
  attempts: number;
}

const nothingKnown: Wait = { since: null, from: '', attempts: 1 };

function cardOf(entry: Entry, wait = nothingKnown): Card {
  const who = entry.type === 'a2a.complete' ? entry.to : entry.from;
  // Only a message of the other side can have been waiting.
  const since = wait.from === who ? null : wait.since;
  return {
    state: entry.state ?? 'blocked',
    who,
    reasonCode: entry.reasonCode,
    reason: entry.reason,
    waitStatus: textIn(entry.data, 'waitStatus') || null,
    waitError: textIn(entry.data, 'waitError') || null,
    waitedMs: since !== null && entry.time > since ? entry.time - since : null,
    attempts: wait.attempts,
  };
}

/** Titles that more than one row has. */
export function sameTitles(sessions: readonly Pick<Session, 'title'>[]): Set<string> {
  const once = new Set<string>();
  const twice = new Set<string>();
  for (const { title } of sessions) (once.has(title) ? twice : once).add(title);
  return twice;
}

/** Sessions by category in the order of the first of each, or as they are. */
export function grouped(
  sessions: readonly Session[],
  byCategory: boolean,
): { category: Session['collabCategory'] | null; sessions: Session[] }[] {
  if (!byCategory) return [{ category: null, sessions: [...sessions] }];
  const groups = new Map<Session['collabCategory'], Session[]>();
  for (const session of sessions) {
    const group = groups.get(session.collabCategory);
    if (group) group.push(session);
    else groups.set(session.collabCategory, [session]);
  }
  return [...groups].map(([category, members]) => ({ category, sessions: members }));
}

/** The order of before, as far as its items still exist, so that nothing moves under the pointer; `fresh` is how many are left out. */
export function heldOrder<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  before: readonly string[],
): { items: T[]; fresh: number } {
  const byKey = new Map(items.map((item) => [keyOf(item), item]));
  const held = before.flatMap((key) => byKey.get(key) ?? []);
  return { items: held, fresh: items.length - held.length };
}
