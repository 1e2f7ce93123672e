import { expect, it } from 'vitest';
import { firstLine, hueOf, visibleParts } from './text';

it('shows invisible characters as their code', () => {
  expect(visibleParts('a\u202eb')).toEqual([
    { text: 'a', code: false },
    { text: 'U+202E', code: true },
    { text: 'b', code: false },
  ]);
  expect(visibleParts('이든 😀')).toEqual([{ text: '이든 😀', code: false }]);
  expect(visibleParts('\u200b\u2066')).toEqual([
    { text: 'U+200B', code: true },
    { text: 'U+2066', code: true },
  ]);
  // Line breaks are white space, not hidden text.
  expect(visibleParts('a\nb\tc')).toEqual([{ text: 'a\nb\tc', code: false }]);
  expect(visibleParts('')).toEqual([]);
});

it('gives a name the same hue always', () => {
  expect(hueOf('eden')).toBe(hueOf('eden'));
  expect(new Set(['eden', 'seum', 'ruda', 'dajim', 'ieum', 'nuri', 'grim'].map(hueOf)).size).toBeGreaterThan(4);
});

it('takes the first line of a description as its title', () => {
  expect(firstLine('\n로그인 구현\n\n둘째 줄')).toBe('로그인 구현');
  expect(firstLine('')).toBe('');
});
