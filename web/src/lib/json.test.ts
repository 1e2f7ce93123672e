import { describe, expect, it } from 'vitest';
import { foldedBelow, jsonLines } from './json';

const value = { a: 1, list: ['x', { deep: null }], none: {}, 'odd/key': true };

/** The lines as text, as they are drawn. */
const textOf = (lines: ReturnType<typeof jsonLines>) =>
  lines
    .map(
      ({ depth, key, text, comma }) =>
        `${'  '.repeat(depth)}${key === null ? '' : `${JSON.stringify(key)}: `}${text}${comma ? ',' : ''}`,
    )
    .join('\n');

describe('jsonLines', () => {
  it('is the value as JSON when nothing is folded', () => {
    expect(JSON.parse(textOf(jsonLines(value, new Set())))).toEqual(value);
  });

  it('shows a folded value on one line with its size', () => {
    const lines = jsonLines(value, new Set(['/list']));
    expect(lines.find(({ key }) => key === 'list')).toMatchObject({ text: '[ … ]', folded: 2, comma: true });
    expect(lines).toHaveLength(6);
  });

  it('gives each line a place of its own', () => {
    const paths = jsonLines({ 'a/b': { c: 1 }, a: { b: { c: 1 } } }, new Set()).map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
  });

  it('writes what is no JSON as null', () => {
    expect(textOf(jsonLines(undefined, new Set()))).toBe('null');
  });
});

it('folds what is deep', () => {
  expect([...foldedBelow(value, 1)]).toEqual(['/list', '/list/1', '/none']);
});
