import { sorted, type Named } from '$lib/named';

/** A question that is kept under a name. */
export interface Question extends Named {
  sql: string;
}

/** The questions in what was stored; whatever else is there is left out. */
export function kept(value: unknown): Question[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter((one) => typeof one?.name === 'string' && typeof one?.sql === 'string')
    .map(({ name, sql }) => ({ name, sql }));
}

/** A list that has taken over other questions. Of two different ones with the same name, that of the list keeps it. */
export function taken(list: Question[], others: Question[]): Question[] {
  const all = [...list];
  for (const { name, sql } of others) {
    let free = name;
    let same = all.find((one) => one.name === free);
    for (let n = 2; same && same.sql !== sql; n++) {
      free = `${name} (${n})`;
      same = all.find((one) => one.name === free);
    }
    if (!same) all.push({ name: free, sql });
  }
  return sorted(all);
}
