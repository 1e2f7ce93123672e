import { expect, it } from 'vitest';
import { Ring } from './ring';

it('keeps the last items in order', () => {
  for (const capacity of [1, 2, 3, 7]) {
    const ring = new Ring<number>(capacity);
    const all: number[] = [];
    for (let i = 0; i < 20; i++) {
      ring.push(i);
      all.push(i);
      const kept = all.slice(-capacity);
      expect([...ring]).toEqual(kept);
      expect(ring.at(0)).toBe(kept[0]);
      expect(ring.at(-1)).toBe(i);
      expect(ring.at(kept.length)).toBeUndefined();
      expect(ring.dropped).toBe(all.length - kept.length);
    }
  }
});

it('keeps the newest when it shrinks, and grows', () => {
  const ring = new Ring<number>(5);
  for (let i = 0; i < 8; i++) ring.push(i);
  ring.resize(2);
  expect([...ring]).toEqual([6, 7]);
  ring.resize(4);
  for (let i = 8; i < 11; i++) ring.push(i);
  expect([...ring]).toEqual([7, 8, 9, 10]);
});

it('refuses a capacity of zero', () => {
  expect(() => new Ring(0)).toThrow(RangeError);
});
