import { sorted, withOne, without } from '$lib/named';
import { Shared, type Ended } from '$lib/shared.svelte';
import { kept, missing, type Question } from './questions';

/** Where this browser keeps questions. */
const place = 'sql.saved';

/**
 * Questions by name. All who use the page share those on the server; this browser keeps what its user saves where it cannot be shared, because
 * the server keeps nothing or the role may not write.
 */
class Saved {
  #shared = new Shared('queries', kept);
  #own: Question[] = $state.raw(own());

  /** Whether what is saved is shared. */
  get shares(): boolean {
    return this.#shared.mayChange;
  }

  /** All of them, each name once; `own` are those of this browser. */
  get list(): (Question & { own: boolean })[] {
    const names = new Set(this.#own.map(({ name }) => name));
    const shared = this.#shared.list.filter(({ name }) => !names.has(name));
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
    await this.#shared.refresh();
    if (!this.shares || this.#own.length === 0) return;
    const given = this.#own;
    await this.#shared.add((list) => missing(list, given));
    this.#keep(this.#own.filter((one) => !given.includes(one)));
  }

  /** Saves a question, in place of the one that has its name. Throws ApiError. */
  async put(name: string, sql: string): Promise<Ended> {
    if (this.shares) return this.#shared.replace(name, this.#shared.named(name), { name, sql });
    this.#keep(withOne(this.#own, { name, sql }));
    return 'done';
  }

  /** Whether a question can be removed here. */
  mayRemove(one: { own: boolean }): boolean {
    return one.own || this.shares;
  }

  /** Removes a question. Throws ApiError. */
  async remove({ name, sql, own }: Question & { own: boolean }): Promise<Ended> {
    if (!own) return this.#shared.replace(name, { name, sql });
    this.#keep(without(this.#own, name));
    return 'done';
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
