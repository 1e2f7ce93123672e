import { expect, it } from 'vitest';
import { isPastDay } from './format';
import { locale } from './index.svelte';

it.each([
  ['2026-11-22', true],
  ['2026-11-23', false],
  ['2026-11-24', false],
  ['soon', false],
  ['', false],
])('the day %s is over: %s', (day, over) => {
  locale.zone = 'Asia/Seoul';
  expect(isPastDay(day, Date.parse('2026-11-22T23:00:00Z'))).toBe(over);
});
