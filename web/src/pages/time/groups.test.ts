import { expect, it } from 'vitest';
import { turns } from './groups';

type Row = Parameters<(typeof turns)[number]['is']>[0];

const row = (table: string, kind: Row['kind'], column: string, before: unknown, after: unknown): Row =>
  ({ table, kind, key: [], columns: [{ name: column, before, after }] }) as unknown as Row;
const turned = (one: Row) => turns.filter(({ is }) => is(one)).map(({ id }) => id);

it.each([
  [['stuck'], row('tasks', 'changed', 'status', 'in_progress', 'blocked')],
  [['stuck'], row('threads', 'changed', 'outcome', 'active', 'no_reply')],
  // It was stuck before, in another way.
  [[], row('threads', 'changed', 'outcome', 'blocked', 'no_reply')],
  [['done'], row('tasks', 'changed', 'status', 'blocked', 'completed')],
  [['done', 'created'], row('threads', 'added', 'outcome', null, 'done')],
  [['given'], row('work', 'changed', 'state', 'running', 'dead')],
  [['given'], row('tasks', 'changed', 'status', 'in_progress', 'cancelled')],
  [['created'], row('tasks', 'added', 'status', null, 'backlog')],
  [[], row('tasks', 'removed', 'status', 'completed', null)],
  [[], row('runs', 'added', 'state', null, 'ok')],
])('turned out as %j', (ids, one) => {
  expect(turned(one)).toEqual(ids);
});
