import { expect, it } from 'vitest';
import { withParticle } from './particles';

it('gives the particle that the last syllable wants', () => {
  expect(withParticle('이든', '이/가')).toBe('이든이');
  expect(withParticle('루다', '이/가')).toBe('루다가');
  expect(withParticle('세움', '을/를')).toBe('세움을');
  expect(withParticle('루다', '은/는')).toBe('루다는');
  expect(withParticle('서울', '으로/로')).toBe('서울로');
  expect(withParticle('세움', '으로/로')).toBe('세움으로');
  expect(withParticle('루다', '으로/로')).toBe('루다로');
  expect(withParticle('이든)', '과/와')).toBe('이든)과');
});

it('reads digits and Latin letters', () => {
  expect(withParticle('seq 3', '은/는')).toBe('seq 3은');
  expect(withParticle('seq 4', '은/는')).toBe('seq 4는');
  expect(withParticle('eden', '이/가')).toBe('eden이');
  expect(withParticle('ruda', '이/가')).toBe('ruda가');
  expect(withParticle('local', '으로/로')).toBe('local로');
});

it('gives both where the sound is unknown', () => {
  expect(withParticle('…', '이/가')).toBe('…이(가)');
});
