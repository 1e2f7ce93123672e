import { problems } from '$lib/problems.svelte';
import { w } from './words';

/** Numbers beside pages in the navigation. */
export const counts = {
  problems: () => problems.total,
  /** Approvals and given-up work. */
  inbox: () => 0,
  /** Answers that are overdue. */
  owed: () => 0,
};

/** What the numbers count. */
export const countWords = { problems: w.problems, inbox: w.waitsForYou, owed: w.overdue } as const;
