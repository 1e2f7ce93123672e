import { agents } from '$lib/agents.svelte';
import { readBuilt } from '$lib/api/client';
import { exact } from '$lib/i18n/format';
import { router } from '$lib/router.svelte';
import { chosen, entriesOf, rowsOf, type Entry, type Row, type Session, type Thread } from '../model';
import { filterOf } from '../model';
import { largePage } from '../pages.svelte';

/** The messages as Markdown, with who, to whom and when. */
export function toMarkdown(
  title: string,
  rows: readonly Row[],
  name: (id: string) => string,
  time: (ms: number) => string,
): string {
  const parts = [`# ${title}`];
  for (const row of rows) {
    if (row.kind !== 'message' && row.kind !== 'outcome') continue;
    const { from, to, time: at, text, state, seq } = row.entry;
    parts.push(`**${name(from)} → ${name(to)}** · ${time(at)} · seq ${seq}${state ? ` · ${state}` : ''}`, text);
  }
  return parts.join('\n\n') + '\n';
}

/** Reads all events of what is open, page by page. */
async function everything(session: Session, thread: Thread | null, process: boolean): Promise<Entry[]> {
  const pages: Entry[] = [];
  for (let before: number | null | undefined; before !== null;) {
    const result = await readBuilt('/api/work-sessions/{id}', {
      path: { id: session.workSessionId },
      query: { ...filterOf(thread?.id, process, false), limit: largePage, before },
      asOf: router.asOf,
    });
    pages.push(...entriesOf(result.data.session.threads));
    before = result.data.nextBefore ?? null;
  }
  return pages.sort((a, b) => a.time - b.time || a.seq - b.seq);
}

/** Downloads what is open, also what has not been scrolled to. */
export async function exportAs(
  format: 'markdown' | 'json',
  session: Session,
  thread: Thread | null,
  process: boolean,
): Promise<void> {
  const all = await everything(session, thread, process);
  const shown = chosen(all, thread, process);
  const began = new Map(session.threads.map(({ id, fromAgent }) => [id, fromAgent]));
  const text =
    format === 'json'
      ? JSON.stringify({ ...(thread ?? session), events: shown.map(({ event }) => event) }, null, 2)
      : toMarkdown(session.title, rowsOf(shown, began, null, all), (id) => agents.nameOf(id), exact);
  const type = format === 'json' ? 'application/json' : 'text/markdown';
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `conversation-${session.seq}.${format === 'json' ? 'json' : 'md'}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
