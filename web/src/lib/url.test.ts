import { describe, expect, it } from 'vitest';
import { formatPlace, many, one, parsePlace } from './url';

describe('places', () => {
  it('are read', () => {
    expect(parsePlace('c/ws_1/conv%3Aa%2Fb?agent=eden&agent=seum&x=1#e431')).toEqual({
      path: ['c', 'ws_1', 'conv:a/b'],
      query: { agent: ['eden', 'seum'], x: '1' },
      hash: 'e431',
    });
  });

  it('survive writing and reading', () => {
    const texts = [
      'a',
      '대화',
      'a/b',
      'a?b',
      'a#b',
      'a%b',
      'conv:x',
      'a b',
      '+',
      '&=',
      '"<>\'',
      '\u202e',
      '😀',
      '%2F',
      '100%',
    ];
    for (const path of texts) {
      for (const value of texts) {
        const place = { path: ['c', path, value], query: { q: value, agent: [path, value], [path]: 'x' }, hash: path };
        expect(parsePlace(formatPlace(place))).toEqual(place);
      }
    }
  });

  it('keep unknown keys and drop empty ones', () => {
    expect(formatPlace(parsePlace('tasks?utm=1&q='))).toBe('tasks?utm=1');
  });

  it('have one or many values', () => {
    const { query } = parsePlace('?a=1,2&a=3&b=4');
    expect(many(query, 'a')).toEqual(['1', '2', '3']);
    expect(one(query, 'a')).toBe('1,2');
    expect(one(query, 'b')).toBe('4');
    expect(many(query, 'c')).toEqual([]);
  });

  it('survive malformed escapes', () => {
    expect(parsePlace('c/%E0%A4%A/x').path).toEqual(['c', '%E0%A4%A', 'x']);
  });
});
