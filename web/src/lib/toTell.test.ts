import { expect, test } from 'vitest';
import { toTell } from './toTell';

test('the agent whose session is to be cleared is written to, else the one that can ask again', () => {
  expect(toTell('context_too_long', 'eden', 'ieum')).toBe('ieum');
  expect(toTell('context_too_long', 'eden', undefined)).toBe('eden');
  expect(toTell('wait_timeout', 'eden', 'ieum')).toBe('eden');
  expect(toTell(null, 'eden', 'ieum')).toBe('eden');
});
