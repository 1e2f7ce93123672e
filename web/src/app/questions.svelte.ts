import { matches } from '$lib/choseong';
import { locale } from '$lib/i18n/index.svelte';
import { session } from '$lib/session.svelte';

type Named = { name: string; title: string };

let list: Named[] = $state.raw([]);

/** Reads the questions of the SQL page, where the server answers SQL. Their code is that page's, so it is loaded when it is needed. */
export async function readQuestions(): Promise<void> {
  if (!session.info.features.sql) return;
  const [{ saved }, { builtIn }] = await Promise.all([
    import('../pages/sql/saved.svelte'),
    import('../pages/sql/words'),
  ]);
  // Without those that are shared there are still the others.
  await saved.refresh().catch(() => {});
  list = [
    ...saved.list.map(({ name }) => ({ name, title: name })),
    ...builtIn.map(({ heading, ko, en }) => ({ name: heading, title: locale.language === 'ko' ? ko : en })),
  ];
}

/** Questions whose names contain what was typed. */
export const questionsFor = (typed: string): Named[] => list.filter(({ title }) => matches(title, typed));
