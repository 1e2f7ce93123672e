import { expect, it } from 'vitest';
import { Tail } from './tail';

const rows = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => ({ seq: from + i }));
const seqs = (list: { seq: number }[]) => list.map(({ seq }) => seq);

it('gives back what came while the view stood still, once', () => {
  const tail = new Tail(10);
  tail.push(rows(4, 7));
  expect([tail.length, tail.lacks(3)]).toEqual([4, false]);
  expect(seqs(tail.take(5))).toEqual([6, 7]);
  expect(tail.take(5)).toEqual([]);
});

it('knows up to where it has let events go', () => {
  const tail = new Tail(3);
  tail.push(rows(1, 3));
  expect(tail.lostUpTo).toBe(0);
  tail.push(rows(4, 8));
  expect([tail.length, tail.lostUpTo]).toEqual([3, 5]);
  expect([tail.lacks(4), tail.lacks(5)]).toEqual([true, false]);
  // After what it lost has been read, nothing is missing and nothing comes twice.
  expect(seqs(tail.take(5))).toEqual([6, 7, 8]);
  expect(tail.lacks(0)).toBe(false);
});

it('has events read that were not delivered', () => {
  const tail = new Tail(3);
  tail.lose(9);
  tail.push(rows(10, 11));
  expect([tail.lacks(8), tail.lacks(9)]).toEqual([true, false]);
});
