import { describe, expect, it } from 'vitest';
import { queriesOf } from '../../../scripts/queries.ts';
import { builtIn } from './words';
import queries from 'virtual:queries';
import { chartColumns, inTime, toCSV, toJSON, type Result } from './table';

const result = (columns: string[], rows: unknown[][]): Result =>
  ({
    columns: columns.map((name) => ({ name, type: '' })),
    rows,
    rowCount: rows.length,
    truncated: false,
    elapsedMs: 1,
    asOfSeq: 9,
  }) as Result;

describe('toCSV', () => {
  it('quotes what needs it', () => {
    expect(
      toCSV(
        result(
          ['a', 'b,c'],
          [
            ['x "y"', 'two\nlines'],
            [null, 1.5],
          ],
        ),
      ),
    ).toBe('a,"b,c"\r\n"x ""y""","two\nlines"\r\n,1.5\r\n');
  });
  it('disarms formulas, and leaves numbers and long integers alone', () => {
    expect(toCSV(result(['=a'], [['=1+1'], ['-cmd'], ['@x'], ['-9007199254740993'], [-5], ['\tx']]))).toBe(
      "'=a\r\n'=1+1\r\n'-cmd\r\n'@x\r\n-9007199254740993\r\n-5\r\n'\tx\r\n",
    );
  });
});

describe('toJSON', () => {
  it('keeps columns of one name apart', () => {
    expect(JSON.parse(toJSON(result(['n', 'n', 'n_2'], [[1, 2, 3]])))).toEqual([{ n: 1, n_2: 2, n_2_2: 3 }]);
  });
});

describe('chartColumns', () => {
  it('takes the first text across and numbers up', () => {
    expect(
      chartColumns(
        result(
          ['n', 'agent', 's'],
          [
            [1, 'eden', null],
            [2, 'seum', 3.5],
          ],
        ),
      ),
    ).toEqual({ across: 1, up: [0, 2] });
  });
  it('takes a time across', () => {
    expect(chartColumns(result(['at_ms', 'n'], [[1_700_000_000_000, 2]]))).toEqual({ across: 0, up: [1] });
  });
  it('has nothing to draw without numbers', () => {
    expect(chartColumns(result(['a', 'b'], [['x', 'y']])).up).toEqual([]);
    expect(chartColumns(result(['a'], [])).up).toEqual([]);
  });
});

describe('queriesOf', () => {
  it('takes each statement below its heading', () => {
    const text = '## One\n\n```sql\nSELECT 1;\n\nSELECT 2;  -- why\n```\n## Two\n```sql\nSELECT 3;\n```\n';
    expect(queriesOf(text)).toEqual([
      { heading: 'One', sql: 'SELECT 1' },
      { heading: 'One', sql: 'SELECT 2' },
      { heading: 'Two', sql: 'SELECT 3' },
    ]);
  });
});

describe('built-in questions', () => {
  it('are queries of docs/schema.md', () => {
    expect(builtIn.filter(({ heading }) => !/^SELECT\b/.test(queries[heading] ?? ''))).toEqual([]);
  });
});

describe('inTime', () => {
  it('orders days and times, and leaves other rows as they are', () => {
    expect(
      inTime(
        [
          ['2026-11-28', 1],
          ['2026-11-27', 2],
        ],
        0,
      ),
    ).toEqual([
      ['2026-11-27', 2],
      ['2026-11-28', 1],
    ]);
    expect(inTime([['2026-11-28T09:00Z'], ['2026-11-28T08:00Z']], 0)).toEqual([
      ['2026-11-28T08:00Z'],
      ['2026-11-28T09:00Z'],
    ]);
    for (const rows of [
      [['b'], ['a']],
      [['2026-11-28'], [null], ['2026-11-27']],
      [['2026-11-281'], ['2026-11-27']],
    ])
      expect(inTime(rows, 0)).toEqual(rows);
  });
});
