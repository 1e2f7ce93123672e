import { words } from './i18n/index.svelte';

export const raiseWords = words({
  token: { ko: '관리자 토큰', en: 'Administrator token' },
  raise: { ko: '15분 동안 관리자 되기', en: 'Be administrator for 15 minutes' },
  how: {
    ko: '서버를 OPENCLAWD_ADMIN_TOKEN과 함께 시작한 사람이 토큰을 압니다.',
    en: 'The person who started the server with OPENCLAWD_ADMIN_TOKEN has the token.',
  },
});
