import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

const id = 'virtual:queries';
const document = join(import.meta.dirname, '../../docs/schema.md');

/** Queries of docs/schema.md by the heading above them, in order. A block of several statements gives several. */
export function queriesOf(markdown: string): { heading: string; sql: string }[] {
  const found: { heading: string; sql: string }[] = [];
  let heading = '';
  let block: string[] | null = null;
  for (const line of markdown.split('\n')) {
    if (block === null && line.startsWith('## ')) heading = line.slice(3).trim();
    else if (line === '```sql') block = [];
    else if (line === '```' && block !== null) {
      for (const sql of block.join('\n').split(/;(?:[ \t]*--[^\n]*)?(?:\n|$)/)) {
        if (sql.trim() !== '') found.push({ heading, sql: sql.trim() });
      }
      block = null;
    } else block?.push(line);
  }
  return found;
}

/** Offers the queries of docs/schema.md as the module `virtual:queries`, so that the page and the document cannot differ. */
export function queries(): Plugin {
  return {
    name: 'queries',
    resolveId: (source) => (source === id ? `\0${id}` : null),
    load(source) {
      if (source !== `\0${id}`) return null;
      this.addWatchFile(document);
      const first: Record<string, string> = {};
      for (const { heading, sql } of queriesOf(readFileSync(document, 'utf8'))) first[heading] ??= sql;
      return `export default ${JSON.stringify(first)};`;
    },
  };
}
