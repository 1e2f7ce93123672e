import { ApiError, Building, read, write, type Schemas } from '../api/client';
import { errorSentence } from '../i18n/codes';
import { t } from '../i18n/index.svelte';
import { session } from '../session.svelte';
import { toasts } from '../toasts.svelte';
import { w } from './words';

/** Decisions are held back for this time, so that they can be undone. */
const undoMs = 5000;
/** Shortest time that is left after the pointer or the focus has left the control that undoes. */
const leastMs = 1500;
const mostReasons = 3;

export type Approval = Schemas['Approval'];
export type Values = Record<string, string>;

interface Held {
  approve: boolean;
  reason: string;
  /** Such calls from now on, too. */
  always: boolean;
  /** What is given for the fields of an input. */
  values: Values;
  /** Time of this browser at which it is sent; null while it is paused. */
  at: number | null;
  left: number;
  sending: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
  done: (seq: number) => void;
}

/** What became of an approval: this tab decided it, or somewhere else it was decided before. */
export interface Outcome {
  approval: Approval;
  mine: boolean;
  /** Null if it is not known, or it no longer waits for another reason. */
  decision: NonNullable<Approval['decision']> | null;
  error: string;
}

/** Values that the server refused, and why. */
export interface Fault {
  error: ApiError;
  values: Values;
}

/** Decisions about approvals, by the approval's id. They outlive the card that took them, because they are sent later. */
class Decisions {
  held: Record<string, Held> = $state({});
  outcomes: Record<string, Outcome> = $state({});
  /** What was given for an input and is to be corrected. */
  faults: Record<string, Fault> = $state({});
  reasons: string[] = $state.raw(stored('reasons'));
  /** Name that signs where the session has none. */
  typed = $state(localStorage.getItem('by') ?? '');

  constructor() {
    // A tab that is closed too early would lose the decision.
    addEventListener('beforeunload', (event) => {
      if (Object.keys(this.held).length > 0) event.preventDefault();
    });
  }

  /** Name that signs; empty if the server knows no better and none was given. */
  get by(): string {
    return session.info.by || this.typed.trim();
  }

  sign(name: string): void {
    this.typed = name;
    localStorage.setItem('by', name.trim());
  }

  hold(
    approval: Approval,
    approve: boolean,
    reason: string,
    done: (seq: number) => void,
    always = false,
    values: Values = {},
  ): void {
    if (this.held[approval.id]) return;
    if (reason) this.remember(reason);
    delete this.faults[approval.id];
    this.held[approval.id] = {
      approve,
      reason,
      always,
      values,
      at: null,
      left: undoMs,
      sending: false,
      timer: undefined,
      done,
    };
    this.#wait(approval);
  }

  /** Holds a decision back for as long as the pointer or the focus is on the control that undoes it. */
  pause(id: string): void {
    const held = this.held[id];
    if (!held || held.sending || held.at === null) return;
    clearTimeout(held.timer);
    held.left = Math.max(leastMs, held.at - Date.now());
    held.at = null;
  }

  resume(approval: Approval): void {
    if (this.held[approval.id]?.at === null) this.#wait(approval);
  }

  undo(id: string): void {
    const held = this.held[id];
    if (!held || held.sending) return;
    clearTimeout(held.timer);
    delete this.held[id];
  }

  remember(reason: string): void {
    this.reasons = [reason, ...this.reasons.filter((one) => one !== reason)].slice(0, mostReasons);
    localStorage.setItem('reasons', JSON.stringify(this.reasons));
  }

  /** Decides now. Returns what became of it, and the seq of the decision, 0 after an error. */
  async send(
    approval: Approval,
    approve: boolean,
    reason: string,
    always = false,
    values: Values = {},
  ): Promise<{ outcome: Outcome; seq: number }> {
    const { id } = approval;
    const by = !session.info.by && this.by ? { by: this.by } : {};
    let outcome: Outcome;
    let seq = 0;
    try {
      const yes = always ? '/api/approvals/{id}/always' : '/api/approvals/{id}/approve';
      const path = approve ? yes : '/api/approvals/{id}/reject';
      const given = Object.keys(values).length > 0 ? { ...by, values } : by;
      const result = await write<{ decidedBy: string }>('POST', path, approve ? given : { ...by, reason }, { id });
      seq = result.seq;
      const status = approve ? 'approved' : 'rejected';
      const decision = { status, by: result.data.decidedBy, reason, atMs: Date.now(), seq } as const;
      outcome = { approval, mine: true, decision, error: '' };
    } catch (error) {
      const failed = error instanceof ApiError ? error : new ApiError('internal', 0, String(error));
      const late = failed.code === 'wrong_state' || failed.code === 'conflict' || failed.code === 'not_found';
      outcome = { approval, mine: false, decision: late ? await this.#decided(id) : null, error: failed.code };
      if (failed.details.field?.startsWith('values')) this.faults[id] = { error: failed, values };
      if (!late) toasts.say(`${errorSentence(failed.code)} ${failed.details.hint ?? failed.message}`, 'error', 10_000);
    }
    if (outcome.mine || outcome.decision || outcome.error === 'wrong_state') this.outcomes[id] = outcome;
    return { outcome, seq };
  }

  #wait(approval: Approval): void {
    const held = this.held[approval.id];
    if (!held) return;
    held.at = Date.now() + held.left;
    held.timer = setTimeout(() => void this.#sendHeld(approval), held.left);
  }

  async #sendHeld(approval: Approval): Promise<void> {
    const held = this.held[approval.id];
    if (!held) return;
    held.sending = true;
    const { outcome, seq } = await this.send(approval, held.approve, held.reason, held.always, held.values);
    delete this.held[approval.id];
    if (outcome.mine) toasts.say(t(held.approve ? w.approved : w.rejected));
    held.done(seq);
  }

  /** Who decided it, and when. */
  async #decided(id: string): Promise<Outcome['decision']> {
    try {
      const answer = await read('/api/approvals', { query: { state: 'decided', limit: 200 } });
      if (answer instanceof Building) return null;
      return answer.data.approvals.find((one) => one.id === id)?.decision ?? null;
    } catch {
      return null;
    }
  }
}

function stored(key: string): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(list) ? list.filter((one) => typeof one === 'string').slice(0, mostReasons) : [];
  } catch {
    return [];
  }
}

export const decisions = new Decisions();
