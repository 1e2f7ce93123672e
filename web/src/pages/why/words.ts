import { words } from '$lib/i18n/index.svelte';

export const w = words({
  title: { ko: '왜?', en: 'Why' },
});
