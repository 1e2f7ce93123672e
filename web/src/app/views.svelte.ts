import { matches } from '$lib/choseong';
import { t } from '$lib/i18n/index.svelte';
import type { Query } from '$lib/url';

type Found = { name: string; page: string; pageName: string; query: Query };

let list: Found[] = $state.raw([]);

/** Reads the views that all share. Their code is loaded when it is needed. */
export async function readViews(): Promise<void> {
  const [{ views }, { opened }, { pageNames }] = await Promise.all([
    import('$lib/views/views.svelte'),
    import('$lib/views/view'),
    import('$lib/views/words'),
  ]);
  // The last ones are better than none.
  await views.refresh().catch(() => {});
  list = views.list.flatMap(({ name, address }) => {
    const place = opened(address);
    return place ? [{ name, ...place, pageName: t(pageNames[place.page]!) }] : [];
  });
}

/** Views whose names contain what was typed. */
export const viewsFor = (typed: string): Found[] => list.filter(({ name }) => matches(name, typed));
