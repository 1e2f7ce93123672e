import { observers } from './api/client';

/**
 * The server's time, in steps of ten seconds, so that ages do not depend on the browser's clock. In the past it is the time of the shown
 * event, once an answer has said it.
 */
class Clock {
  #offset = 0;
  /** The time at which it stands; null while it goes. */
  stood: number | null = $state(null);
  now: number = $state(Date.now());
  /** Once a second, for things that run. */
  second: number = $state(Date.now());

  constructor() {
    observers.add(({ date }) => {
      if (date === null) return;
      // The header has whole seconds, so only a real difference counts.
      const offset = date - Date.now();
      if (Math.abs(offset - this.#offset) > 2000) {
        this.#offset = Math.abs(offset) < 2000 ? 0 : offset;
        this.#tick();
      }
    });
    if (typeof window === 'undefined') return;
    setInterval(() => document.hidden || this.#tick(), 1000);
    document.addEventListener('visibilitychange', () => document.hidden || this.#tick());
  }

  #tick(): void {
    this.second = Date.now() + this.#offset;
    if (this.stood === null && Math.abs(this.second - this.now) >= 10_000) this.now = this.second;
  }

  /** Lets `now` stand at a time of the past; null lets it go again. */
  stand(at: number | null): void {
    this.stood = at;
    this.now = at ?? this.second;
  }

  /** The time to which the age of something is counted. What is newer than the last step is not in the future. */
  since(at: number): number {
    return this.stood !== null || at <= this.now ? this.now : Math.max(this.now, Math.min(at, this.second));
  }

  exactly(): number {
    return Date.now() + this.#offset;
  }
}

export const clock = new Clock();
