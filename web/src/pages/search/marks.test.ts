import { describe, expect, it } from 'vitest';
import { parts } from './marks';

const shown = (text: string, matches: [number, number][]) =>
  parts(
    text,
    matches.map(([start, end]) => ({ start, end })),
  )
    .map((part) => (part.hit ? `«${part.text}»` : part.text))
    .join('');

describe('parts', () => {
  it('marks what matched', () => {
    expect(shown('배포 파이프라인에서', [[0, 2]])).toBe('«배포» 파이프라인에서');
    expect(shown('a b c', [[2, 3]])).toBe('a «b» c');
    expect(shown('abc', [[2, 3]])).toBe('ab«c»');
  });
  it('leaves a text without matches whole', () => {
    expect(parts('abc', [])).toEqual([{ text: 'abc', hit: false }]);
    expect(parts('', [])).toEqual([]);
  });
  it('counts in UTF-16 units', () => {
    expect(shown('😀 배포', [[3, 5]])).toBe('😀 «배포»');
  });
  it('joins ranges that overlap or touch, in any order', () => {
    expect(
      shown('abcdef', [
        [3, 5],
        [0, 2],
        [1, 3],
      ]),
    ).toBe('«abcde»f');
  });
  it('loses and doubles nothing, whatever the ranges are', () => {
    for (const matches of [
      [[-5, 2]],
      [[4, 99]],
      [[3, 3]],
      [[5, 1]],
      [[99, 100]],
      [
        [0, 6],
        [0, 6],
      ],
    ] as [number, number][][]) {
      const all = parts(
        'abcdef',
        matches.map(([start, end]) => ({ start, end })),
      );
      expect(all.map(({ text }) => text).join('')).toBe('abcdef');
    }
  });
});
