import type { Named } from '$lib/named';

/** A question that is kept under a name. */
export interface Question extends Named {
  sql: string;
}

/** The questions in what was stored, each name once; whatever else is there is left out. */
export function kept(value: unknown): Question[] {
  if (!Array.isArray(value)) return [];
  const questions = new Map<string, Question>();
  for (const one of value) {
    if (typeof one?.name !== 'string' || typeof one?.sql !== 'string' || questions.has(one.name)) continue;
    questions.set(one.name, { name: one.name, sql: one.sql });
  }
  return [...questions.values()];
}

/** What a list lacks of other questions. One that has the name of a different one gets a number. */
export function missing(list: Question[], others: Question[]): Question[] {
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
  return all.slice(list.length);
}
