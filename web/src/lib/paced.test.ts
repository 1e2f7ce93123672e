// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

let paced: typeof import('./paced').paced;

beforeEach(async () => {
  vi.resetModules();
  vi.useFakeTimers();
  ({ paced } = await import('./paced'));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

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

it.each([
  [2, 30, 41],
  [20, 6, 9],
  [500, 7, 8],
])('draws so often that a drawing of %i ms leaves nearly all frames alone, and once a second', (takes, least, most) => {
  let [times, spent] = [0, 0];
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now() + spent);
  const ask = paced(() => {
    times++;
    spent += takes;
  });
  for (let at = 0; at < 4000; at += 10) {
    ask();
    vi.advanceTimersByTime(10);
  }
  expect(times).toBeGreaterThanOrEqual(least);
  expect(times).toBeLessThanOrEqual(most);
});

it('draws different things in one frame', () => {
  const frames: number[] = [];
  const asks = [1, 2].map(() => paced(() => frames.push(Date.now())));
  vi.advanceTimersByTime(2000);
  for (const ask of asks) {
    ask();
    vi.advanceTimersByTime(5);
  }
  vi.advanceTimersByTime(500);
  expect(frames).toHaveLength(2);
  expect(frames[0]).toBe(frames[1]);
});
