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

type Diff = Schemas['ReplayDiff'];

/** Number of rows of a table that differ. */
export const changedIn = (diff: Diff, table: string): number =>
  diff.tables
    .filter((count) => count.table === table)
    .reduce((sum, { added, removed, changed }) => sum + added + removed + changed, 0);

export const rowsOf = (diff: Diff, table: string): Diff['rows'] => diff.rows.filter((row) => row.table === table);

export const subjectOf = (diff: Diff, row: Diff['rows'][number]): Diff['subjects'][number] | undefined =>
  diff.subjects.find(({ table, key }) => table === row.table && key === row.key[0]?.after);
