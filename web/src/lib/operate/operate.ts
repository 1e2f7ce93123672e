import { ApiError, write } from '../api/client';
import { decisions } from '../decide/decisions.svelte';
import { errorSentence } from '../i18n/codes';
import { t } from '../i18n/index.svelte';
import { session } from '../session.svelte';
import { toasts } from '../toasts.svelte';
import { w } from './words';

export interface Operated {
  changed: boolean;
  newTaskId?: string;
}

/** Changes a task for a person, who signs as for approvals. Returns false after an error, which is shown. */
export async function operate(
  id: string,
  what: 'cancel' | 'unblock' | 'reassign' | 'priority',
  fields: Record<string, string>,
  done: (seq: number, answer: Operated) => void,
): Promise<boolean> {
  const by = !session.info.by && decisions.by ? { by: decisions.by } : {};
  const said = Object.fromEntries(Object.entries(fields).filter(([, text]) => text.trim() !== ''));
  try {
    const { data, seq } = await write<Operated>('POST', `/api/tasks/{id}/${what}`, { ...by, ...said }, { id });
    toasts.say(t(data.changed ? w.done : w.same));
    done(seq, data);
    return true;
  } catch (error) {
    const failed = error as ApiError;
    toasts.say(`${errorSentence(failed.code)} ${failed.message}`, 'error', 10_000);
    return false;
  }
}
