import { withOne, without } from '../named';
import { Shared } from '../shared.svelte';
import { kept, type View } from './view';

/** Views by name. All who use the page share them. */
class Views {
  #shared = new Shared('views', kept);

  get list(): View[] {
    return this.#shared.list;
  }

  /** Whether views can be saved and deleted. */
  get mayChange(): boolean {
    return this.#shared.mayChange;
  }

  /** Reads them; false if the server keeps none. Throws ApiError. */
  refresh(): Promise<boolean> {
    return this.#shared.refresh();
  }

  /** Saves a view, in place of the one that has its name. Throws ApiError. */
  put(view: View): Promise<void> {
    return this.#shared.change((list) => withOne(list, view));
  }

  /** Deletes a view. Throws ApiError. */
  remove(name: string): Promise<void> {
    return this.#shared.change((list) => without(list, name));
  }
}

export const views = new Views();
