import { agents } from '$lib/agents.svelte';
import type { Schemas } from '$lib/api/client';
import { channelNames, isChannel, type Channel } from '$lib/i18n/channels';
import { t } from '$lib/i18n/index.svelte';
import { router } from '$lib/router.svelte';
import { modes } from './words';

const chosenMode = (): Schemas['RoutingMode'] | undefined => {
  const mode = router.one('mode');
  return mode !== undefined && mode in modes && router.one('agent') ? (mode as Schemas['RoutingMode']) : undefined;
};

/** The chosen channel; undefined is all. */
const chosenChannel = (): Channel | undefined => {
  const channel = router.one('channel');
  return channel !== undefined && isChannel(channel) ? channel : undefined;
};

/** The channel in a path of the API. */
export const path = () => ({ channel: chosenChannel() ?? ('all' as const) });

/** The filters of the URL, as the API takes them. */
export const filters = () => ({
  channel: chosenChannel(),
  agent: router.one('agent'),
  place: router.one('place'),
  mode: chosenMode(),
});

/** The filters as labels, for what says that nothing matches them. */
export function labels(): Record<string, string> {
  const { channel, agent, place, mode } = filters();
  return {
    ...(channel ? { channel: t(channelNames[channel]) } : {}),
    ...(mode ? { mode: t(modes[mode]) } : {}),
    ...(agent ? { agent: agents.nameOf(agent) } : {}),
    ...(place ? { place } : {}),
  };
}
