import type { ApiError } from './api/client';
import type { Stuck } from './i18n/problems';
import { query, type Query } from './query.svelte';
import { router } from './router.svelte';

type Count = Query<'/api/problems'>;
const asked = { query: { limit: 1 } };

/** Number of problems, for the navigation and the tab's title, and why the server is not ready, which every page says. */
class Problems {
  #now: Count | null = $state.raw(null);
  #past: Count | null = $state.raw(null);

  /** At the point in time that is shown; 0 while it is not known. */
  get total(): number {
    return (router.asOf === null ? this.#now : this.#past)?.data?.total ?? 0;
  }

  /** The server's own state is that of now, whatever is shown. Reasons of the server come first. */
  get notReady(): Stuck | null {
    return this.#now?.data?.problems.find(({ kind }) => kind === 'not_ready') ?? null;
  }

  /** Why nothing is known of problems, if the server answers and cannot say. */
  get error(): ApiError | null {
    const error = this.#now?.error ?? null;
    return error && error.status >= 500 && error.code !== 'busy' ? error : null;
  }

  start(): void {
    $effect.root(() => {
      this.#now = query('/api/problems', () => asked, {
        keys: ['problems', 'sessions'],
        slowestMs: 4000,
        now: true,
        everyMs: 60_000,
      });
      this.#past = query('/api/problems', () => (router.asOf === null ? null : asked));
    });
  }
}

export const problems = new Problems();
