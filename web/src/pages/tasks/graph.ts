/** A task as the drawing needs it: its id and the ids of the tasks that must be completed first. */
export interface Node {
  id: string;
  dependsOn: readonly string[];
}

/** A node at its place: column 0 has the tasks that wait for nothing. */
export interface Placed {
  id: string;
  column: number;
  row: number;
}

/**
 * From a task to one that waits for it. `cyclic` closes a circle, and is not considered for the columns. `via` are free places in the columns
 * between the two, so that the line does not run behind other tasks.
 */
export interface Edge {
  from: string;
  to: string;
  cyclic: boolean;
  via: { column: number; row: number }[];
}

export interface Group {
  nodes: Placed[];
  edges: Edge[];
  columns: number;
  rows: number;
}

/**
 * Places tasks that wait for each other, one group for each connected set, the largest first. A task is one column to the right of the last
 * one that it waits for; within a column the order follows the neighbours on the left. Ids that only occur in dependsOn are nodes too. Tasks
 * without any dependency are left out.
 */
export function layOut(nodes: readonly Node[]): Group[] {
  const before = new Map<string, string[]>();
  const after = new Map<string, string[]>();
  for (const { id, dependsOn } of nodes) {
    for (const needed of new Set(dependsOn)) {
      if (needed === id) continue;
      push(before, id, needed);
      push(after, needed, id);
    }
  }
  const order = [...new Set([...nodes.map(({ id }) => id), ...before.keys(), ...after.keys()])].filter(
    (id) => before.has(id) || after.has(id),
  );
  const cyclic = closing(order, before);
  const column = columnsOf(order, before, cyclic);
  return connected(order, before, after)
    .map((ids) => place(ids, before, column, cyclic))
    .sort((a, b) => b.nodes.length - a.nodes.length);
}

const keyOf = (from: string, to: string) => `${from}\n${to}`;

function push(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** Edges that close a circle, found depth first without recursion, because a chain may be long. */
function closing(ids: readonly string[], before: Map<string, string[]>): Set<string> {
  const found = new Set<string>();
  const state = new Map<string, 'open' | 'over'>();
  for (const start of ids) {
    if (state.has(start)) continue;
    const stack: { id: string; next: number }[] = [{ id: start, next: 0 }];
    state.set(start, 'open');
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const needed = before.get(top.id)?.[top.next++];
      if (needed === undefined) {
        state.set(top.id, 'over');
        stack.pop();
      } else if (state.get(needed) === 'open') found.add(keyOf(needed, top.id));
      else if (!state.has(needed)) {
        state.set(needed, 'open');
        stack.push({ id: needed, next: 0 });
      }
    }
  }
  return found;
}

/** The longest way from a task that waits for nothing. */
function columnsOf(ids: readonly string[], before: Map<string, string[]>, cyclic: Set<string>): Map<string, number> {
  const column = new Map<string, number>();
  const needed = (id: string) => (before.get(id) ?? []).filter((other) => !cyclic.has(keyOf(other, id)));
  for (const start of ids) {
    const stack = [start];
    while (stack.length > 0) {
      const id = stack.at(-1)!;
      const missing = needed(id).find((other) => !column.has(other));
      if (missing !== undefined) stack.push(missing);
      else {
        stack.pop();
        column.set(id, Math.max(-1, ...needed(id).map((other) => column.get(other)!)) + 1);
      }
    }
  }
  return column;
}

function connected(ids: readonly string[], before: Map<string, string[]>, after: Map<string, string[]>): string[][] {
  const seen = new Set<string>();
  const groups: string[][] = [];
  for (const start of ids) {
    if (seen.has(start)) continue;
    seen.add(start);
    const group = [start];
    for (let i = 0; i < group.length; i++) {
      for (const other of [...(before.get(group[i]!) ?? []), ...(after.get(group[i]!) ?? [])]) {
        if (seen.has(other)) continue;
        seen.add(other);
        group.push(other);
      }
    }
    groups.push(group);
  }
  return groups;
}

function place(ids: string[], before: Map<string, string[]>, column: Map<string, number>, cyclic: Set<string>): Group {
  const columns: string[][] = [];
  for (const id of ids) (columns[column.get(id)!] ??= []).push(id);
  // A long edge takes a place in each column that it crosses. Its stations are neighbours of each other, as tasks are.
  const stations = new Map<string, string[]>();
  const left = new Map<string, string[]>();
  const right = new Map<string, string[]>();
  for (const to of ids) {
    for (const from of before.get(to) ?? []) {
      if (cyclic.has(keyOf(from, to))) continue;
      const way: string[] = [];
      for (let at = column.get(from)! + 1; at < column.get(to)!; at++) {
        const station = `${keyOf(from, to)}\n${at}`;
        columns[at]!.push(station);
        way.push(station);
      }
      stations.set(keyOf(from, to), way);
      const all = [from, ...way, to];
      for (let i = 1; i < all.length; i++) {
        push(left, all[i]!, all[i - 1]!);
        push(right, all[i - 1]!, all[i]!);
      }
    }
  }
  const row = new Map<string, number>();
  const number = (list: string[]) => list.forEach((id, index) => row.set(id, index));
  columns.forEach(number);
  // Once to the right by what a task waits for, once to the left by what waits for it, and once more to the right.
  for (const [neighbours, list] of [
    [left, columns],
    [right, columns.toReversed()],
    [left, columns],
  ] as const) {
    for (const tasks of list) {
      const middle = new Map(
        tasks.map((id, index) => [
          id,
          mean(
            (neighbours.get(id) ?? []).map((other) => row.get(other)!),
            index,
          ),
        ]),
      );
      tasks.sort((a, b) => middle.get(a)! - middle.get(b)!);
      number(tasks);
    }
  }
  return {
    nodes: ids.map((id) => ({ id, column: column.get(id)!, row: row.get(id)! })),
    edges: ids.flatMap((to) =>
      (before.get(to) ?? []).map((from) => ({
        from,
        to,
        cyclic: cyclic.has(keyOf(from, to)),
        via: (stations.get(keyOf(from, to)) ?? []).map((station, index) => ({
          column: column.get(from)! + 1 + index,
          row: row.get(station)!,
        })),
      })),
    ),
    columns: columns.length,
    rows: Math.max(...columns.map((list) => list.length)),
  };
}

const mean = (values: number[], otherwise: number): number =>
  values.length === 0 ? otherwise : values.reduce((sum, value) => sum + value, 0) / values.length;
