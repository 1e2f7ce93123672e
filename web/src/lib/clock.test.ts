import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { clock } from './clock.svelte';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  clock.stand(null);
  vi.useRealTimers();
});

it('counts what happened after its last step as now, and what is to come from the second', () => {
  clock.now = 100_000;
  clock.second = 107_000;
  expect([90_000, 100_000, 106_000, 130_000].map((at) => clock.since(at))).toEqual([
    100_000, 100_000, 106_000, 107_000,
  ]);
});

it('stands in the past', () => {
  clock.second = 500_000;
  clock.stand(100_000);
  expect(clock.since(200_000)).toBe(100_000);
});
