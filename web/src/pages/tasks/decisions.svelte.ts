import { ApiError, write } from '$lib/api/client';
import { errorSentence } from '$lib/i18n/codes';
import { t } from '$lib/i18n/index.svelte';
import { session } from '$lib/session.svelte';
import { toasts } from '$lib/toasts.svelte';
import { w } from './words';

/** Decisions are held back for this time, so that they can be undone. */
const undoMs = 5000;

interface Held {
  approve: boolean;
  reason: string;
  /** Time of this browser at which it is sent. */
  at: number;
  sending: boolean;
  timer: ReturnType<typeof setTimeout>;
  done: (seq: number) => void;
}

/** Decisions about approvals, by the approval's id. They outlive the card that took them, because they are sent later. */
class Decisions {
  held: Record<string, Held> = $state({});

  constructor() {
    // A tab that is closed too early would lose the decision.
    addEventListener('beforeunload', (event) => {
      if (Object.keys(this.held).length > 0) event.preventDefault();
    });
  }

  /** Name that signs; empty if the server knows no better and none was given. */
  get by(): string {
    return session.info.by || localStorage.getItem('by') || '';
  }

  hold(id: string, approve: boolean, reason: string, done: (seq: number) => void): void {
    const timer = setTimeout(() => void this.#send(id), undoMs);
    this.held[id] = { approve, reason, at: Date.now() + undoMs, sending: false, timer, done };
  }

  undo(id: string): void {
    const held = this.held[id];
    if (!held || held.sending) return;
    clearTimeout(held.timer);
    delete this.held[id];
  }

  async #send(id: string): Promise<void> {
    const held = this.held[id];
    if (!held) return;
    held.sending = true;
    const by = this.by ? { by: this.by } : {};
    try {
      const { seq } = held.approve
        ? await write('POST', '/api/approvals/{id}/approve', by, { id })
        : await write('POST', '/api/approvals/{id}/reject', { ...by, reason: held.reason }, { id });
      toasts.say(t(held.approve ? w.approved : w.rejected));
      held.done(seq);
    } catch (error) {
      const { code, message } = error as ApiError;
      // After a conflict the message says what was decided, and by whom.
      toasts.say(`${errorSentence(code)} ${message}`, 'error', 10_000);
      held.done(0);
    } finally {
      delete this.held[id];
    }
  }
}

export const decisions = new Decisions();
