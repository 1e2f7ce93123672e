import { t, type Phrase } from '../i18n/index.svelte';
import { w } from './prompts.words';

/** How the program's prompts begin. Those with a group are about who it matches, the others about the task or plan that they describe. */
const kinds: [RegExp, Phrase<[string]>][] = [
  [/^\[Continue\] Your task /, w.next],
  [/^\[Continue\] Nothing has happened /, w.idle],
  [/^\[Define steps\] /, w.divide],
  [/^\[Stuck\] /, w.stuck],
  [/^\[No progress\] /, w.noProgress],
  [/^\[Backlog\] /, w.backlog],
  [/^\[Unblock request /, w.unblock],
  [/^\[ESCALATION\] Agent /, w.unblockLast],
  [/^\[Still blocked\?\] /, w.stillBlocked],
  [/^\[ESCALATION\] Task .* stays blocked: /, w.nobodyHelps],
  [/^\[ESCALATION\] Task .* can never start: /, w.neverStarts],
  [/^\[ESCALATION\] Task .* has been interrupted /, w.interrupted],
  [/^\[Restart\] /, w.restart],
  [/^\[Approved\] Your task /, w.taskApproved],
  [/^\[Rejected\] Your task /, w.taskRejected],
  [/^\[Cancelled\] Your task /, w.taskCancelled],
  [/^\[Resumed\] Your task /, w.taskResumed],
  [/^\[Approved\] Your plan /, w.planApproved],
  [/^\[Rejected\] Your plan /, w.planRejected],
  [/^\[(.+?) answered in /, w.answeredIn],
  [/^\[Your request to (.+?) was not posted /, w.notPosted],
  [/^\[It is unknown whether your request to (.+?) was posted /, w.postUnknown],
  [/^\[(.+?) can no longer answer: /, w.cannotAnswer],
  [/^\[You asked (.+?) in this thread\]/, w.askedHere],
];

/** Another agent's prompt has the agent in front. */
const relay = /^\[[\w-]{1,64}\]: /;
/** How a request without an answer begins. */
const outcome = /^.outcome. /i;
const longest = 80;

/** What a prompt of the program says, in a line in the reader's language; null for a text that begins as no prompt does. */
export function promptLine(prompt: string): string | null {
  const text = prompt.trimStart().replace(relay, '');
  const [first = ''] = text.split('\n', 1);
  if (outcome.test(first)) return t(w.automatic, t(w.noAnswer));
  for (const [begins, phrase] of kinds) {
    const found = begins.exec(first);
    if (found) return t(w.automatic, t(phrase, found[1] ?? subjectOf(text)));
  }
  return null;
}

/** The line of a text that the program wrote, also of one that this version of the page does not know. */
export const programLine = (text: string): string => promptLine(text) ?? t(w.automatic, t(w.other));

/** The name of the plan or the task that a prompt describes. */
function subjectOf(text: string): string {
  const name = (/^Plan: (.+)$/m.exec(text) ?? /^Description: (.+)$/m.exec(text))?.[1]?.trim();
  if (!name) return '';
  return t(w.quoted, name.length > longest ? `${name.slice(0, longest)}…` : name);
}
