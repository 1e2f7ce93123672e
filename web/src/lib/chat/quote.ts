import { exact } from '../i18n/format';
import { t } from '../i18n/index.svelte';
import { problemKinds, problemSentence, type Stuck } from '../i18n/problems';
import { w } from './words';

const longest = 300;
const short = (text: string) => (text.length > longest ? `${text.slice(0, longest)}…` : text);
const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim();

/** What is wrong, as a quotation for the agent: what it is about, how it stands, why, and since when. Parts that are not known are left out. */
export function quote(about: string, state: string, reason: string, sinceMs: number): string {
  const head = [oneLine(about), state].filter(Boolean).map(short).join(' · ');
  const lines = [head, short(oneLine(reason)), sinceMs > 0 ? t(w.since, exact(sinceMs)) : ''];
  return lines
    .filter(Boolean)
    .map((line) => `> ${line}\n`)
    .join('');
}

/** Whether the advice about a reason is to send a command, which has to stand alone in the field. */
export const wantsCommand = (code: string | null | undefined): boolean => code === 'context_too_long';

/** The quotation of a problem; empty where a command is to be sent. */
export const quoteOf = (problem: Stuck): string =>
  wantsCommand(problem.code)
    ? ''
    : quote(
        problem.title ?? problem.fields.subject ?? '',
        t(problemKinds[problem.kind]),
        problemSentence(problem),
        problem.sinceMs ?? 0,
      );
