import { words } from './i18n/index.svelte';

export const notifyWords = words({
  title: { ko: (name: string) => `승인 요청: ${name}`, en: (name: string) => `Approval wanted: ${name}` },
});
