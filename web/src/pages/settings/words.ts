import { words } from '$lib/i18n/index.svelte';

export const w = words({
  title: { ko: '설정', en: 'Settings' },
});
