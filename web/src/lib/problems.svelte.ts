import { Building, read } from './api/client';
import type { Stuck } from './i18n/problems';
import { live } from './live/live.svelte';
import { router } from './router.svelte';

/** Shortest time between two requests of the count. */
const pauseMs = 4000;

/** Number of problems, for the navigation and the tab's title, and why the server is not ready, which every page says. */
class Problems {
  total = $state(0);
  /** Queued work that was given up. */
  dead = $state(0);
  notReady: Stuck | null = $state.raw(null);
  #askedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  start(): void {
    void this.#read();
    live.onStale((keys) => {
      if (keys === 'all' || keys.has('problems') || keys.has('sessions')) this.#later();
    });
    setInterval(() => this.#later(), 60_000);
  }

  #later(): void {
    this.#timer ??= setTimeout(() => void this.#read(), Math.max(200, this.#askedAt + pauseMs - Date.now()));
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#askedAt = Date.now();
    if (document.hidden && this.total > 0) return;
    try {
      const answer = await read('/api/problems', { query: { limit: 1 }, asOf: router.asOf });
      if (answer instanceof Building) return;
      this.total = answer.data.total;
      this.dead = answer.data.counts.dead ?? 0;
      // Reasons of the server come first.
      this.notReady = answer.data.problems.find(({ kind }) => kind === 'not_ready') ?? null;
    } catch {
      // The count stays until the next answer.
    }
  }
}

export const problems = new Problems();
