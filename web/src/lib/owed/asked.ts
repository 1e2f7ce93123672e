import { agents } from '../agents.svelte';
import { t } from '../i18n/index.svelte';
import { owedPrompts, w, type Owed } from './words';

/** What was asked: the words of the agent, or, where the server asked in its name, a sentence about the task. */
export function askedOf(item: Owed): string {
  if (item.prompt === undefined || item.prompt === 'other') return item.text;
  return t(
    owedPrompts[item.prompt],
    item.taskTitle ? t(w.task, item.taskTitle) : t(w.itsTask, agents.nameOf(item.from)),
  );
}
