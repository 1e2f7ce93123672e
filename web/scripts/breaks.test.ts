import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { breaks } from '../tests/breaks/breaks.js';

const edits = breaks.flatMap(({ name, edits }) => edits.map(([file, now]) => ({ name, file, now })));

it.each(edits)('the defect $name can be put back in $file', ({ file, now }) => {
  const text = readFileSync(join(import.meta.dirname, '../src', file), 'utf8');
  expect(text.split(now).length - 1, now).toBe(1);
});
