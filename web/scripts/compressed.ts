import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const texts = ['.js', '.css', '.txt'];

/** Files that are smaller are written as they are. */
const leastBytes = 1024;

/**
 * Writes texts as FILE.gz in place of FILE. The program contains the files as they are written and sends them like that, so it is a megabyte
 * smaller and compresses nothing itself.
 */
export function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    enforce: 'post',
    writeBundle({ dir = '' }, bundle) {
      for (const name of Object.keys(bundle)) {
        const path = join(dir, name);
        const content = readFileSync(path);
        if (!texts.includes(extname(name)) || content.length < leastBytes) continue;
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
        rmSync(path);
      }
    },
  };
}
