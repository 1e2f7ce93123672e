// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { paced } from './paced';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('draws with the next frame what comes alone', () => {
  const draw = vi.fn();
  const ask = paced(draw);
  ask();
  expect(draw).not.toHaveBeenCalled();
  vi.advanceTimersByTime(17);
  expect(draw).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1000);
  ask();
  vi.advanceTimersByTime(17);
  expect(draw).toHaveBeenCalledTimes(2);
});

it('draws what keeps coming at most ten times a second, and the last of it', () => {
  let [now, drawn, times] = [0, 0, 0];
  const ask = paced(() => {
    drawn = now;
    times++;
  });
  for (; now < 1000; now++) {
    ask();
    vi.advanceTimersByTime(1);
  }
  expect(times).toBeGreaterThanOrEqual(8);
  expect(times).toBeLessThanOrEqual(10);
  vi.advanceTimersByTime(200);
  expect(drawn).toBe(1000);
});
