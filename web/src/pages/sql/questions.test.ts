import { describe, expect, it } from 'vitest';
import { kept, missing } from './questions';

describe('questions', () => {
  it('are what a list of them has, and nothing else', () => {
    expect(
      kept([
        { name: 'a', sql: 'SELECT 1', more: 2 },
        { name: 'a', sql: 'x' },
        { name: 1, sql: 'x' },
        null,
        'a',
        { name: 'b' },
      ]),
    ).toEqual([{ name: 'a', sql: 'SELECT 1' }]);
    for (const other of [null, 7, 'a', { name: 'a', sql: 'b' }]) expect(kept(other)).toEqual([]);
  });

  it('are taken over once, and replace none', () => {
    const list = [
      { name: '나', sql: 'SELECT 2' },
      { name: '가', sql: 'SELECT 1' },
    ];
    const others = [
      { name: '가', sql: 'SELECT 1' },
      { name: '나', sql: 'SELECT 3' },
      { name: '다', sql: 'SELECT 4' },
    ];
    const more = [
      { name: '나 (2)', sql: 'SELECT 3' },
      { name: '다', sql: 'SELECT 4' },
    ];
    expect(missing(list, others)).toEqual(more);
    expect(missing([...list, ...more], others)).toEqual([]);
    expect(missing([], [])).toEqual([]);
  });
});
