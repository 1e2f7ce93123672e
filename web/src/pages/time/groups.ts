import type { Schemas } from '$lib/api/client';
import type { Word } from '$lib/i18n/index.svelte';
import { w } from './words';

export interface Group {
  id: 'tasks' | 'conversations' | 'runs' | 'agents' | 'queue';
  title: Word;
  /** The table whose rows are the things that people know. */
  table: string;
}

/** What people ask about, and the table that has a row for each. */
export const groups: Group[] = [
  { id: 'tasks', title: w.groupTasks, table: 'tasks' },
  { id: 'conversations', title: w.groupConversations, table: 'threads' },
  { id: 'runs', title: w.groupRuns, table: 'runs' },
  { id: 'agents', title: w.groupAgents, table: 'agent_activity' },
  { id: 'queue', title: w.groupQueue, table: 'work' },
];

/** How a task, a conversation or queued work has turned out between the points. */
export interface Turn {
  id: 'stuck' | 'done' | 'given' | 'created';
  title: Word;
  is: (row: Diff['rows'][number]) => boolean;
}

/** Whether a column has one of the values at the second point, and had none of them at the first. */
const became = (row: Diff['rows'][number], table: string, column: string, ...values: string[]): boolean =>
  row.table === table &&
  row.kind !== 'removed' &&
  row.columns.some(
    ({ name, before, after }) => name === column && values.includes(String(after)) && !values.includes(String(before)),
  );

export const turns: Turn[] = [
  {
    id: 'stuck',
    title: w.turnStuck,
    is: (row) => became(row, 'tasks', 'status', 'blocked') || became(row, 'threads', 'outcome', 'blocked', 'no_reply'),
  },
  {
    id: 'done',
    title: w.turnDone,
    is: (row) => became(row, 'tasks', 'status', 'completed') || became(row, 'threads', 'outcome', 'done'),
  },
  {
    id: 'given',
    title: w.turnGiven,
    is: (row) =>
      became(row, 'tasks', 'status', 'abandoned', 'failed', 'cancelled') || became(row, 'work', 'state', 'dead'),
  },
  {
    id: 'created',
    title: w.turnCreated,
    is: (row) => row.kind === 'added' && (row.table === 'tasks' || row.table === 'threads'),
  },
];

/** The tables whose rows turn out somehow. */
export const turning = ['tasks', 'threads', 'work'];

type Diff = Schemas['ReplayDiff'];

/** Number of rows of a table that differ. */
export const changedIn = (diff: Diff, table: string): number =>
  diff.tables
    .filter((count) => count.table === table)
    .reduce((sum, { added, removed, changed }) => sum + added + removed + changed, 0);

export const rowsOf = (diff: Diff, table: string): Diff['rows'] => diff.rows.filter((row) => row.table === table);

export const subjectOf = (diff: Diff, row: Diff['rows'][number]): Diff['subjects'][number] | undefined =>
  diff.subjects.find(({ table, key }) => table === row.table && key === row.key[0]?.after);
