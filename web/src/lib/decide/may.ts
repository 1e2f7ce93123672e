import { t } from '../i18n/index.svelte';
import { live } from '../live/live.svelte';
import { router } from '../router.svelte';
import { session } from '../session.svelte';
import { w } from './words';

/** Why nothing can be decided or changed here, as a sentence; empty if it can. `here` is false where another gateway does it. */
export function refusedHere(here: boolean): string {
  if (router.asOf !== null) return t(w.notInPast);
  if (!session.mayOperate) return t(w.notAllowed);
  if (!here) return t(w.elsewhere);
  return live.state === 'waiting' ? t(w.offline) : '';
}
