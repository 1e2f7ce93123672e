import { sorted } from '../named';
import { Shared, type Ended } from '../shared.svelte';
import { kept, mostViews, type View } from './view';

/** Views by name. All who use the page share them. */
class Views {
  #shared = new Shared('views', kept, mostViews);

  get list(): View[] {
    return sorted(this.#shared.list);
  }

  /** Whether views can be saved and deleted. */
  get mayChange(): boolean {
    return this.#shared.mayChange;
  }

  named(name: string): View | undefined {
    return this.#shared.named(name);
  }

  /** Reads them; false if the server keeps none. Throws ApiError. */
  refresh(): Promise<boolean> {
    return this.#shared.refresh();
  }

  /** Saves a view in place of the one that has its name, `before`. Throws ApiError. */
  put(view: View, before: View | undefined): Promise<Ended> {
    return this.#shared.replace(view.name, before, view);
  }

  /** Deletes a view. Throws ApiError. */
  remove(view: View): Promise<Ended> {
    return this.#shared.replace(view.name, view);
  }
}

export const views = new Views();
