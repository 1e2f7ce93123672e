import { problems } from '$lib/problems.svelte';
import { waiting } from '$lib/waiting.svelte';
import { w } from './words';

/** Numbers beside pages in the navigation. */
export const counts = {
  problems: () => problems.total,
  /** Approvals and given-up work. */
  inbox: () => waiting.approvals + problems.dead,
  /** Answers that are overdue. */
  owed: () => waiting.overdue,
};

/** What the numbers count. */
export const countWords = { problems: w.problems, inbox: w.waitsForYou, owed: w.overdue } as const;
