import { describe, expect, it } from 'vitest';
import { around, columnsBySeq, columnsByTime, ordered, seqAt, timeAt, type Bucket } from './scale';

const bucket = (seq0: number, seq1: number, t0: number, t1: number, problems = 0): Bucket => ({
  seq0,
  seq1,
  t0,
  t1,
  n: seq1 - seq0 + 1,
  problems,
});
const log = [bucket(1, 10, 0, 9_000), bucket(11, 20, 10_000, 100_000, 2), bucket(21, 30, 3_600_000, 3_609_000, 1)];

describe('the scale of the time machine', () => {
  it('knows about when an event was, and about which event was then', () => {
    expect(timeAt(log, 1)).toBe(0);
    expect(timeAt(log, 10)).toBe(9_000);
    expect(timeAt(log, 15)).toBe(50_000);
    expect(timeAt(log, 99)).toBe(3_609_000);
    expect(timeAt([], 3)).toBe(null);
    expect(seqAt(log, -1)).toBe(0);
    expect(seqAt(log, 50_000)).toBe(15);
    expect(seqAt(log, 2_000_000)).toBe(20);
    expect(seqAt(log, 9_999_999)).toBe(30);
    expect(seqAt([], 5)).toBe(0);
    for (let seq = 1; seq <= 30; seq++) expect(seqAt(log, timeAt(log, seq)! + 1)).toBe(seq);
  });

  it('is not moved by a few events that are out of order', () => {
    const first = ordered([bucket(1, 1, 90_000, 90_000), bucket(2, 3, 1_000, 2_000), bucket(4, 9, 3_000, 80_000)]);
    expect(first.map(({ t0, t1 }) => [t0, t1])).toEqual([
      [2_000, 2_000],
      [2_000, 2_000],
      [3_000, 80_000],
    ]);
    expect(ordered(log)).toEqual(log);
    expect(ordered([])).toEqual([]);
  });

  it('has no times that go back', () => {
    const sorted = ordered([bucket(1, 5, 5_000, 9_000), bucket(6, 9, 1_000, 2_000), bucket(10, 12, 12_000, 11_000)]);
    const times = sorted.flatMap(({ t0, t1 }) => [t0, t1]);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times).toEqual([2_000, 2_000, 2_000, 2_000, 11_000, 11_000]);
  });

  it('draws every event and every failure once', () => {
    for (const columns of [columnsBySeq(log), columnsByTime(log, 12), columnsByTime(log, 500)]) {
      expect(columns.reduce((sum, { problems }) => sum + problems, 0)).toBe(3);
      expect(columns[0]!.from).toBe(0);
      expect(columns.at(-1)!.to).toBeCloseTo(1);
      expect(Math.max(...columns.map(({ height }) => height))).toBe(1);
      for (const { height } of columns) expect(height).toBeGreaterThanOrEqual(0);
    }
    expect(columnsByTime(log, 12).reduce((sum, { events }) => sum + events, 0)).toBe(30);
    expect(columnsBySeq([])).toEqual([]);
    expect(columnsByTime([], 3)).toHaveLength(3);
  });

  it('shows a part of the log that has the event', () => {
    expect(around(log, 15, 'all')).toEqual([1, 30]);
    expect(around(log, 25, 'hour')).toEqual([21, 30]);
    for (const seq of [1, 10, 11, 20, 30]) {
      const [low, high] = around(log, seq, 'minutes');
      expect(low).toBeLessThanOrEqual(seq);
      expect(high).toBeGreaterThanOrEqual(seq);
      expect(high).toBeGreaterThan(low - 1);
    }
  });
});
