import { ApiError, readKept, replaceKept } from './api/client';
import type { Named } from './named';
import { session } from './session.svelte';

/** Someone else can be faster, but not again and again. */
const tries = 5;

/** How a change ended: `changed` if someone else has changed what has the name, `full` if there is no place for one more. */
export type Ended = 'done' | 'changed' | 'full';

interface Held<T> {
  /** What is stored, also what `list` leaves out. */
  all: unknown[];
  list: T[];
  etag: string;
}

/**
 * A list that the server keeps under a key for all who use the page. `listOf` reads it from what was stored; what it leaves out, because a newer
 * page or another program has stored it, stays as it is.
 */
export class Shared<T extends Named> {
  #held: Held<T> | null = $state.raw(null);

  constructor(
    readonly key: string,
    readonly listOf: (all: unknown[]) => T[],
    readonly most = Infinity,
  ) {}

  get list(): T[] {
    return this.#held?.list ?? [];
  }

  /** Whether it was read, and the role may change it. */
  get mayChange(): boolean {
    return this.#held !== null && session.mayOperate;
  }

  named(name: string): T | undefined {
    return this.list.find((one) => one.name === name);
  }

  /** Reads the list; false if the server keeps nothing. Throws ApiError. */
  async refresh(): Promise<boolean> {
    try {
      await this.#read();
      return true;
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
      this.#held = null;
      return false;
    }
  }

  /** Replaces what has a name by `next`, if it still is `before`; undefined is nothing. Throws ApiError. */
  replace(name: string, before: T | undefined, next?: T): Promise<Ended> {
    return this.#write(({ all }) => {
      const now = this.named(name);
      if (!now && !next) return 'done';
      if (JSON.stringify(now) !== JSON.stringify(before)) return 'changed';
      if (now) return this.#without(all, name, next);
      return this.list.length < this.most ? [...all, next] : 'full';
    });
  }

  /** Adds what the function finds missing in the list. Throws ApiError. */
  add(missing: (list: T[]) => T[]): Promise<Ended> {
    return this.#write(({ all, list }) => {
      const more = missing(list);
      return more.length > 0 ? [...all, ...more] : 'done';
    });
  }

  /** What is stored without what has a name, or with `next` in its place. Members that this page does not know stay. */
  #without(all: unknown[], name: string, next?: T): unknown[] {
    let instead = next;
    return all.flatMap((one) => {
      if (this.listOf([one])[0]?.name !== name) return [one];
      const put = instead ? [{ ...(one as object), ...instead }] : [];
      instead = undefined;
      return put;
    });
  }

  /** Makes a change on what is there. If someone else was faster, it is read again, and the change made on that, if it is still right. */
  async #write(edit: (held: Held<T>) => unknown[] | Ended): Promise<Ended> {
    for (let attempt = 1; this.#held; attempt++) {
      const edited = edit(this.#held);
      if (typeof edited === 'string') return edited;
      try {
        this.#hold(edited, (await replaceKept(this.key, { value: edited, etag: this.#held.etag })).etag);
        return 'done';
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'conflict') || attempt === tries) throw error;
        await this.#read();
      }
    }
    throw new ApiError('not_found', 0, `Nothing is kept under ${this.key}`);
  }

  async #read(): Promise<void> {
    const { value, etag } = await readKept(this.key);
    if (value !== null && !Array.isArray(value)) {
      this.#held = null; // nothing is written in its place
      throw new ApiError('store_unreadable', 200, `What is kept under ${this.key} is not a list`);
    }
    this.#hold(value ?? [], etag);
  }

  #hold(all: unknown[], etag: string): void {
    this.#held = { all, list: this.listOf(all), etag };
  }
}
