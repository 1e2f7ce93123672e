import { Ring } from '$lib/ring';

/** Events that a paused view holds back at most. */
export const ringSize = 10_000;

/** Something with a place in the log. */
interface Placed {
  seq: number;
}

/**
 * The newest events, while the view stands still. What it had to let go is known, so that it can be read again: nothing between the view and
 * the events that are still here is lost.
 */
export class Tail<R extends Placed> {
  #ring: Ring<R>;
  #capacity: number;
  /** Seq of the last event that was let go, 0 if none was. */
  lostUpTo = 0;

  constructor(capacity = ringSize) {
    this.#capacity = capacity;
    this.#ring = new Ring(capacity);
  }

  get length(): number {
    return this.#ring.length;
  }

  push(rows: readonly R[]): void {
    for (const row of rows) {
      if (this.#ring.length === this.#capacity) this.lostUpTo = this.#ring.at(0)!.seq;
      this.#ring.push(row);
    }
  }

  /** Events up to a seq were not pushed. */
  lose(seq: number): void {
    this.lostUpTo = Math.max(this.lostUpTo, seq);
  }

  /** Whether events after `seq` were let go. */
  lacks(seq: number): boolean {
    return this.lostUpTo > seq;
  }

  /** Takes out all events after `seq`. */
  take(seq: number): R[] {
    const rows = [...this.#ring].filter((row) => row.seq > seq);
    this.clear();
    return rows;
  }

  clear(): void {
    this.#ring = new Ring(this.#capacity);
    this.lostUpTo = 0;
  }
}
