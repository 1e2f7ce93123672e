import { describe, expect, it } from 'vitest';
import { foldedBelow, jsonLines, parseExact } from './json';

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

describe('parseExact', () => {
  it('keeps the digits of integers that a number cannot hold', () => {
    const text = '{"a":9007199254740993,"b":-12345678901234567890,"c":9007199254740991,"d":[9007199254740993]}';
    expect(parseExact(text)).toEqual({
      a: '9007199254740993',
      b: '-12345678901234567890',
      c: 9007199254740991,
      d: ['9007199254740993'],
    });
  });
  it('leaves texts, fractions and exponents alone', () => {
    const text =
      '{"a":"x \\" 9007199254740993","b":0.12345678901234567890,"c":12345678901234567.5,"d":1234567890123456789e3,"9007199254740993":1e-20}';
    expect(parseExact(text)).toEqual(JSON.parse(text));
  });
});
