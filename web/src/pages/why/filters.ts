import { agents } from '$lib/agents.svelte';
import type { Schemas } from '$lib/api/client';
import { t } from '$lib/i18n/index.svelte';
import { router } from '$lib/router.svelte';
import { modes } from './words';

const chosenMode = (): Schemas['RoutingMode'] | undefined => {
  const mode = router.one('mode');
  return mode !== undefined && mode in modes && router.one('agent') ? (mode as Schemas['RoutingMode']) : undefined;
};

/** The filters of the URL, as the API takes them. */
export const filters = () => ({ agent: router.one('agent'), place: router.one('place'), mode: chosenMode() });

/** The filters as labels, for what says that nothing matches them. */
export function labels(): Record<string, string> {
  const { agent, place, mode } = filters();
  return {
    ...(mode ? { mode: t(modes[mode]) } : {}),
    ...(agent ? { agent: agents.nameOf(agent) } : {}),
    ...(place ? { place } : {}),
  };
}
