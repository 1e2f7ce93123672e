import { locale } from './i18n/index.svelte';

/** Something that is kept under a name. */
export interface Named {
  name: string;
}

/** In the order of their names in the language of the page. */
export const sorted = <N extends Named>(list: N[]): N[] =>
  list.toSorted((a, b) => a.name.localeCompare(b.name, locale.language));

/** The list with one more, in place of the one that has its name. */
export const withOne = <N extends Named>(list: N[], one: N): N[] => [...without(list, one.name), one];

/** The list without the one of that name. */
export const without = <N extends Named>(list: N[], name: string): N[] => list.filter((other) => other.name !== name);
