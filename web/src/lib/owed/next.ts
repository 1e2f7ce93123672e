import { relative } from '../i18n/format';
import { t } from '../i18n/index.svelte';
import { w, type Owed } from './words';

/** What comes next for an answer that is owed, and how often was reminded: short texts. */
export function nextOf(item: Owed, now: number): string[] {
  const texts: string[] = [];
  if (item.step > 0)
    texts.push(item.steps > 0 ? t(w.reminders, item.step, item.steps) : t(w.remindersSoFar, item.step));
  if (item.turns && item.turns > 1) texts.push(t(w.turns, Math.max(1, item.turn ?? 0), item.turns));
  if (item.endedAt !== null || item.answeredAt !== null) return texts;
  if (item.nextAt !== null) texts.push(t(item.nextAt === item.dueAt ? w.last : w.next, relative(item.nextAt, now)));
  else if (item.dueAt !== null) texts.push(t(w.check, relative(item.dueAt, now)));
  return texts;
}
