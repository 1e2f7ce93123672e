import { query, type Query } from './query.svelte';
import { router } from './router.svelte';
import { session } from './session.svelte';

const asked = { query: { limit: 1 } } as const;
/** The numbers stand beside every page, so they are asked for rarely while frames keep coming. */
const slowestMs = 4000;

/** What waits for people, for the navigation: approvals, and answers that are overdue. */
class Waiting {
  #approvals: { now: Query<'/api/approvals'>; past: Query<'/api/approvals'> } | null = $state.raw(null);
  #owed: { now: Query<'/api/owed'>; past: Query<'/api/owed'> } | null = $state.raw(null);

  /** At the point in time that is shown; 0 while it is not known. */
  get approvals(): number {
    return (router.asOf === null ? this.#approvals?.now : this.#approvals?.past)?.data?.total ?? 0;
  }

  /** Answers that are overdue, at that point. */
  get overdue(): number {
    return (router.asOf === null ? this.#owed?.now : this.#owed?.past)?.data?.overdue ?? 0;
  }

  start(): void {
    // What another gateway keeps in files has no past.
    const then = () => (router.asOf === null || session.info.mode === 'follow' ? null : asked);
    $effect.root(() => {
      this.#approvals = {
        now: query('/api/approvals', () => asked, { keys: ['approvals'], slowestMs, now: true }),
        past: query('/api/approvals', then),
      };
      this.#owed = {
        now: query('/api/owed', () => asked, { keys: ['owed'], slowestMs, now: true }),
        past: query('/api/owed', then),
      };
    });
  }
}

export const waiting = new Waiting();
