import { words } from '$lib/i18n/index.svelte';

export const backupWords = words({
  title: { ko: '백업', en: 'Backups' },
  make: { ko: '지금 백업하기', en: 'Back up now' },
  verify: { ko: '검사하기', en: 'Verify' },
  verifyNamed: { ko: (name: string) => `${name} 검사하기`, en: (name: string) => `Verify ${name}` },
  making: { ko: '백업하는 중입니다.', en: 'A backup is being made.' },
  verifying: { ko: '검사하는 중입니다.', en: 'A backup is being verified.' },
  made: { ko: '백업했고 사본을 검사했습니다.', en: 'The backup is made and verified.' },
  verified: { ko: '온전합니다.', en: 'It is complete and unchanged.' },
  makeFailed: { ko: '백업하지 못했습니다.', en: 'The backup failed.' },
  verifyFailed: { ko: '검사에서 문제가 나왔습니다.', en: 'The verification failed.' },
  busy: { ko: '다른 백업이나 검사가 끝나야 합니다.', en: 'Another backup or verification has to end first.' },
  none: {
    ko: '아직 백업이 없습니다. openclawd backup create 로도 만들 수 있습니다.',
    en: 'There are no backups yet. openclawd backup create makes one too.',
  },
  never: { ko: '검사 기록 없음', en: 'not verified' },
  checked: { ko: '검사', en: 'verified' },
  archives: { ko: '보관 파일이 함께 필요함', en: 'needs its archives' },
  adminOnly: {
    ko: '백업과 검사는 관리자만 할 수 있습니다.',
    en: 'Making and verifying backups takes the role of an administrator.',
  },
  noAdmin: {
    ko: '백업과 검사는 관리자만 할 수 있는데, 이 서버는 OPENCLAWD_ADMIN_TOKEN 없이 시작되었습니다. 서버에서 openclawd backup create 를 쓰세요.',
    en: 'Making and verifying backups takes an administrator, and this server was started without OPENCLAWD_ADMIN_TOKEN. Use openclawd backup create on its machine.',
  },
});
