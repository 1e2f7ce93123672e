import { agents } from '$lib/agents.svelte';
import type { Schemas } from '$lib/api/client';
import { signer } from '$lib/decide/signer';
import { taskStates } from '$lib/i18n/codes';
import { list } from '$lib/i18n/format';
import { t } from '$lib/i18n/index.svelte';
import { taskLines } from './progress.words';

type Line = Schemas['TaskLine'];
type Step = NonNullable<Schemas['TaskOfAgent']['steps']>[number];

type Outcome = { kind: string; summary?: string; reason?: string };

/** How a task ended, or why it stands still: its summary or reason, and what the server did to it in the language of the page. */
export function outcomeText(outcome: Outcome | undefined, lines: Line[], known: Step[]): string {
  const line = outcome?.kind === 'interrupted' ? lines.findLast(({ code }) => code === 'interrupted') : undefined;
  if (line) return lineText(line, known);
  // The server's reason is that of the line, in English.
  if (outcome?.kind === 'interrupted') return t(taskStates.interrupted);
  return outcome?.summary || outcome?.reason || '';
}

/** A line of progress: what an agent wrote as it is, what the server wrote in the language of the page. */
export function lineText(line: Line, known: Step[]): string {
  if (line.code === undefined || !(line.code in taskLines)) return line.text;
  const contents = (line.steps ?? []).map((id) => known.find((step) => step.id === id)?.content ?? id);
  return t(taskLines[line.code], {
    by: line.by ? signer(line.by) : '',
    to: line.to ? agents.nameOf(line.to) : '',
    text: line.step ?? line.reason ?? list(contents),
    count: line.count ?? 0,
    hours: line.hours ?? 0,
  });
}
