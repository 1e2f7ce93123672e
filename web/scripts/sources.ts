import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Plugin } from 'vite';

const web = resolve(import.meta.dirname, '..');

/** Files that decide what the build contains: paths relative to web/, with slashes, in byte order. */
export function sourceFiles(): string[] {
  const files = ['index.html', 'package-lock.json', 'package.json', 'svelte.config.js', 'vite.config.ts'];
  for (const folder of ['public', 'scripts', 'src']) {
    for (const entry of readdirSync(join(web, folder), { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) files.push(relative(web, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
    }
  }
  return files.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** SHA-256 in hex over `path NUL content NUL` of each source file. A test in Go computes the same without Node. */
export function sourcesHash(): string {
  const hash = createHash('sha256');
  for (const file of sourceFiles()) {
    hash.update(file).update('\0');
    hash.update(readFileSync(join(web, file))).update('\0');
  }
  return hash.digest('hex');
}

/** Writes SOURCES.sha256 beside the built files. */
export function sources(): Plugin {
  return {
    name: 'sources',
    apply: 'build',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'SOURCES.sha256', source: `${sourcesHash()}\n` });
    },
  };
}
