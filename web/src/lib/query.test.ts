// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { answers } from './api/client';
import { Query } from './query.svelte';

let head = 1;
const asked = vi.fn(async () => new Response('{}', { headers: { 'X-As-Of-Seq': String(head) } }));

beforeEach(() => {
  answers.clear();
  asked.mockClear();
  vi.useFakeTimers();
  vi.stubGlobal('fetch', asked);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('asks again while frames come without a pause, and ever less often', async () => {
  const query = new Query('/api/health', { keys: ['events'], slowestMs: 4000 });
  query.change({}, null);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toHaveBeenCalledTimes(1);
  const within = async (ms: number) => {
    asked.mockClear();
    for (let passed = 0; passed < ms; passed += 25) {
      query.listen(new Set(['events'] as const), ++head);
      await vi.advanceTimersByTimeAsync(25);
    }
    return asked.mock.calls.length;
  };
  expect(await within(100)).toBe(1);
  expect(await within(3900)).toBeGreaterThanOrEqual(2);
  expect(await within(20_000)).toBe(5);
  await vi.advanceTimersByTimeAsync(4000);
  expect(query.seq).toBe(head);
  query.end();
});
