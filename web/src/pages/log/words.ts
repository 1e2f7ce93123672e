import { words } from '$lib/i18n/index.svelte';

export const w = words({
  title: { ko: '로그', en: 'Log' },
});
