import { Building, read, type Answer, type ReadPath } from './api/client';
import type { Key } from './live/stale';
import { live } from './live/live.svelte';
import { router } from './router.svelte';

/** Shortest time between two requests of one number. */
const pauseMs = 4000;

/** A number that follows the log: it is asked again after a frame that may have changed it, not more often than every 4 s. */
class Count<P extends ReadPath> {
  #askedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly path: P,
    readonly key: Key,
    readonly found: (answer: Answer<P>) => void,
  ) {}

  start(): void {
    void this.#read();
    live.onStale((keys) => {
      if (keys === 'all' || keys.has(this.key)) this.#later();
    });
  }

  #later(): void {
    this.#timer ??= setTimeout(() => void this.#read(), Math.max(200, this.#askedAt + pauseMs - Date.now()));
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#askedAt = Date.now();
    if (document.hidden && this.#asked) {
      document.addEventListener('visibilitychange', () => this.#later(), { once: true });
      return;
    }
    this.#asked = true;
    try {
      const answer = await read(this.path, { query: { limit: 1 }, asOf: router.asOf });
      if (!(answer instanceof Building)) this.found(answer.data);
    } catch {
      // The number stays until the next answer.
    }
  }
  #asked = false;
}

/** What waits for people, for the navigation: approvals, and answers that are overdue. */
class Waiting {
  approvals = $state(0);
  overdue = $state(0);

  start(): void {
    new Count('/api/approvals', 'approvals', ({ total }) => (this.approvals = total)).start();
    new Count('/api/owed', 'owed', ({ overdue }) => (this.overdue = overdue)).start();
  }
}

export const waiting = new Waiting();
