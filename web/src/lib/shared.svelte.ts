import { ApiError, readKept, replaceKept } from './api/client';
import { session } from './session.svelte';

/** Someone else can be faster, but not again and again. */
const tries = 5;

/** A list that the server keeps under a key for all who use the page. `listOf` reads it from what was stored. */
export class Shared<T> {
  #held: { list: T[]; etag: string } | null = $state.raw(null);

  constructor(
    readonly key: string,
    readonly listOf: (value: unknown) => T[],
  ) {}

  get list(): T[] {
    return this.#held?.list ?? [];
  }

  /** Whether it was read, and the role may change it. */
  get mayChange(): boolean {
    return this.#held !== null && session.mayOperate;
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

  /** Makes a change on what is there. If someone else was faster, it is read again, and the change made on that. Throws ApiError. */
  async change(edit: (list: T[]) => T[]): Promise<void> {
    for (let attempt = 1; this.#held; attempt++) {
      try {
        const list = edit(this.#held.list);
        this.#held = { list, etag: (await replaceKept(this.key, { value: list, etag: this.#held.etag })).etag };
        return;
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'conflict') || attempt === tries) throw error;
        await this.#read();
      }
    }
  }

  async #read(): Promise<void> {
    const { value, etag } = await readKept(this.key);
    this.#held = { list: this.listOf(value), etag };
  }
}
