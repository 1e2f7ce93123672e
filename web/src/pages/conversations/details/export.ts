import { agents } from '$lib/agents.svelte';
import { readBuilt } from '$lib/api/client';
import { clock } from '$lib/clock.svelte';
import { exact } from '$lib/i18n/format';
import { t } from '$lib/i18n/index.svelte';
import { router } from '$lib/router.svelte';
import { chosen, entriesOf, rowsOf, type Entry, type Row, type Session, type Thread } from '../model';
import { filterOf } from '../model';
import { largePage } from '../pages.svelte';
import { w } from '../words';
import { toHTML } from './html';

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

/** Formats of a download: media type and ending of the file. */
const formats = {
  markdown: ['text/markdown', 'md'],
  json: ['application/json', 'json'],
  html: ['text/html', 'html'],
} as const;

export type Format = keyof typeof formats;

/** Downloads what is open, also what has not been scrolled to. */
export async function exportAs(
  format: Format,
  session: Session,
  thread: Thread | null,
  process: boolean,
): Promise<void> {
  const all = await everything(session, thread, process);
  const shown = chosen(all, thread, process);
  const began = new Map(session.threads.map(({ id, fromAgent }) => [id, fromAgent]));
  const rows = () => rowsOf(shown, began, null, all);
  const name = (id: string) => agents.nameOf(id);
  const make: Record<Format, () => string> = {
    markdown: () => toMarkdown(session.title, rows(), name, exact),
    json: () => JSON.stringify({ ...(thread ?? session), events: shown.map(({ event }) => event) }, null, 2),
    html: () =>
      toHTML(session.title, rows(), name, t(w.exportedFrom, exact(clock.now), String(shown.at(-1)?.seq ?? 0))),
  };
  const [type, ending] = formats[format];
  const url = URL.createObjectURL(new Blob([make[format]()], { type: `${type};charset=utf-8` }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `conversation-${session.seq}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
