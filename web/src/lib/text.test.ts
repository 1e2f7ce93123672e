import { describe, expect, it } from 'vitest';
import { firstLine, hueOf, plainLine, visibleParts } from './text';

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

describe('plainLine', () => {
  it('drops the signs of Markdown and keeps the words', () => {
    const text =
      '## 계획\n\n- **첫째** `코드`\n- 둘째 ~~취소~~\n\n| 표 | 칸 |\n|---|---|\n| 1 | 2 |\n\n```js\nconst a = 1;\n```\n> 인용';
    expect(plainLine(text)).toBe('계획 첫째 코드 둘째 취소 표 | 칸 1 | 2 const a = 1; 인용');
  });
  it('leaves plain text alone', () => {
    expect(plainLine('a - b # c * d, snake_case 2 > 1 | x')).toBe('a - b # c * d, snake_case 2 > 1 | x');
  });
});
