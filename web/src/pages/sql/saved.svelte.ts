import { ApiError, readKept, replaceKept } from '$lib/api/client';
import { session } from '$lib/session.svelte';
import { kept, sorted, taken, type Question } from './questions';

const key = 'queries';
/** Where this browser keeps questions. */
const place = 'sql.saved';
/** Someone else can be faster, but not again and again. */
const tries = 5;

/**
 * Questions by name. All who use the page share those on the server; this browser keeps what its user saves where it cannot be shared, because
 * the server keeps nothing or the role may not write.
 */
class Saved {
  #shared: { list: Question[]; etag: string } | null = $state.raw(null);
  #own: Question[] = $state.raw(own());

  /** Whether what is saved is shared. */
  get shares(): boolean {
    return this.#shared !== null && session.mayOperate;
  }

  /** All of them, each name once; `own` are those of this browser. */
  get list(): (Question & { own: boolean })[] {
    const names = new Set(this.#own.map(({ name }) => name));
    const shared = this.#shared?.list.filter(({ name }) => !names.has(name)) ?? [];
    return sorted([
      ...shared.map((one) => ({ ...one, own: false })),
      ...this.#own.map((one) => ({ ...one, own: true })),
    ]);
  }

  get(name: string): string | undefined {
    return this.list.find((one) => one.name === name)?.sql;
  }

  /** Reads what is shared, and shares what this browser has kept, once, if its user may. Throws ApiError. */
  async refresh(): Promise<void> {
    try {
      await this.#read();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
      this.#shared = null;
    }
    if (!this.shares || this.#own.length === 0) return;
    const given = this.#own;
    await this.#change((list) => taken(list, given));
    this.#keep(this.#own.filter((one) => !given.includes(one)));
  }

  /** Saves a question, in place of the one that has its name. Throws ApiError. */
  async put(name: string, sql: string): Promise<void> {
    const put = (list: Question[]) => sorted([...list.filter((one) => one.name !== name), { name, sql }]);
    if (this.shares) await this.#change(put);
    else this.#keep(put(this.#own));
  }

  /** Whether a question can be removed here. */
  mayRemove(one: { own: boolean }): boolean {
    return one.own || this.shares;
  }

  /** Removes a question. Throws ApiError. */
  async remove({ name, own }: { name: string; own: boolean }): Promise<void> {
    const remove = (list: Question[]) => list.filter((one) => one.name !== name);
    if (own) this.#keep(remove(this.#own));
    else await this.#change(remove);
  }

  async #read(): Promise<void> {
    const { value, etag } = await readKept(key);
    this.#shared = { list: kept(value), etag };
  }

  /** Makes a change on what is there. If someone else was faster, it is read again, and the change made on that. */
  async #change(edit: (list: Question[]) => Question[]): Promise<void> {
    for (let attempt = 1; this.#shared; attempt++) {
      try {
        const list = edit(this.#shared.list);
        this.#shared = { list, etag: (await replaceKept(key, { value: list, etag: this.#shared.etag })).etag };
        return;
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'conflict') || attempt === tries) throw error;
        await this.#read();
      }
    }
  }

  #keep(list: Question[]): void {
    this.#own = list;
    if (list.length > 0) localStorage.setItem(place, JSON.stringify(list));
    else localStorage.removeItem(place);
  }
}

function own(): Question[] {
  try {
    return kept(JSON.parse(localStorage.getItem(place) ?? '[]'));
  } catch {
    return [];
  }
}

export const saved = new Saved();
