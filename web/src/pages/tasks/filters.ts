import { router } from '$lib/router.svelte';

/** Filters of the URL as parameters of the API. */
export const filters = () => ({
  agent: router.many('agent'),
  priority: router.one('priority') as 'urgent' | undefined,
  q: router.one('q'),
});
