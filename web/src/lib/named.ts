/** Something that is kept under a name. */
export interface Named {
  name: string;
}

/** In the order of their names. */
export const sorted = <N extends Named>(list: N[]): N[] => list.toSorted((a, b) => a.name.localeCompare(b.name));

/** The list with one more, in place of the one that has its name. */
export const withOne = <N extends Named>(list: N[], one: N): N[] => sorted([...without(list, one.name), one]);

/** The list without the one of that name. */
export const without = <N extends Named>(list: N[], name: string): N[] => list.filter((other) => other.name !== name);
