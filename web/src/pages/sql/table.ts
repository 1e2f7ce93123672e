import type { Asked } from '$lib/api/client';

export type Result = Asked<'/api/sql'>;
export type Cell = string | number | null;

/** A column of numbers, also of those that are texts because they are too long. */
export const isNumeric = (result: Result, column: number): boolean =>
  result.rows.some((row) => typeof row[column] === 'number') &&
  result.rows.every((row) => row[column] === null || typeof row[column] === 'number');

/** Columns that a chart can use: the first of texts or times, else the first one, goes across; numbers go up. */
export function chartColumns(result: Result): { across: number; up: number[] } {
  const all = result.columns.map((_, index) => index);
  const numeric = all.filter((column) => isNumeric(result, column));
  const across = all.find((column) => !numeric.includes(column) || isTime(result.columns[column]!.name)) ?? 0;
  return { across, up: numeric.filter((column) => column !== across) };
}

/** Rows ordered by a column of days, or of times that begin with a day; as they are if it is none. */
export function inTime(rows: Result['rows'], column: number): Result['rows'] {
  const dated = rows.every((row) => /^\d{4}-\d{2}-\d{2}(?!\d)/.test(textOf(row[column])));
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return dated ? rows.toSorted((a, b) => order(textOf(a[column]), textOf(b[column]))) : rows;
}

/** Milliseconds since 1970, by the naming rule of the views. */
export const isTime = (name: string): boolean =>
  name.endsWith('_ms') && !/(duration|response|after|elapsed|wait)/.test(name);

const ids = /^(work_session|task|task_id|run_id|job_id|plan_id|conversation|conversation_id|event_id|seq|message_id)$/;

/** Columns whose values lead to a page of their own. */
export const isLink = (name: string): boolean => ids.test(name);

export const textOf = (cell: unknown): string => (cell === null || cell === undefined ? '' : String(cell));

/** CSV as in RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function toCSV(result: Result): string {
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const field = (cell: unknown) =>
    quoted(typeof cell === 'string' && /^[=+\-@\t\r]/.test(cell) && !/^-?\d+$/.test(cell) ? `'${cell}` : textOf(cell));
  return [result.columns.map(({ name }) => field(name)), ...result.rows.map((row) => row.map(field))]
    .map((fields) => fields.join(',') + '\r\n')
    .join('');
}

/** JSON: one object for each row. A name that stands twice gets a number. */
export function toJSON(result: Result): string {
  const names: string[] = [];
  for (const { name } of result.columns) {
    let unique = name;
    for (let n = 2; names.includes(unique); n++) unique = `${name}_${n}`;
    names.push(unique);
  }
  const rows = result.rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
  return JSON.stringify(rows, null, 2) + '\n';
}
