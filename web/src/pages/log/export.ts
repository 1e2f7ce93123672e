import { Building, read } from '$lib/api/client';
import { apiQuery, type Filter } from './filter';

/** Events that one file has at most. */
export const exportedMost = 100_000;
const page = 1000;

/**
 * Reads the newest matching events, page by page, as lines of JSON in the order of the log. `progress` is called after each page and says
 * whether to go on. `more` says that there are older ones.
 */
export async function linesOf(
  filter: Filter,
  asOf: number | null,
  progress: (count: number) => boolean,
): Promise<{ parts: string[]; count: number; more: boolean }> {
  const pages: string[] = [];
  let count = 0;
  let more = true;
  for (let before: number | undefined; more && count < exportedMost;) {
    const result = await read('/api/events', {
      query: { ...apiQuery(filter), limit: Math.min(page, exportedMost - count), before },
      asOf,
    });
    if (result instanceof Building) {
      await new Promise((done) => setTimeout(done, result.retryAfterMs));
    } else {
      const { events, nextCursor } = result.data;
      pages.push(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
      count += events.length;
      more = nextCursor !== null;
      before = events[0]?.seq;
    }
    if (!progress(count)) break;
  }
  return { parts: pages.reverse(), count, more };
}

/** Saves parts of a text as a file. */
export function save(parts: string[], name: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type: 'application/x-ndjson;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
