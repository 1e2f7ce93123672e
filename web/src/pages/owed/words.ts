import { words } from '$lib/i18n/index.svelte';

export const w = words({
  title: { ko: '답장 대기', en: 'Owed' },
});
