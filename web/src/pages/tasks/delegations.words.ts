import { dictionary, words, type Word } from '$lib/i18n/index.svelte';
import type { Tone } from '$lib/ui/Badge.svelte';

/** How the work of a sub-agent stands. A task file may have other words. */
export const delegationStates: Record<string, Word> = dictionary({
  spawned: { ko: '시작시킴', en: 'started' },
  running: { ko: '실행 중', en: 'running' },
  completed: { ko: '끝남, 확인 전', en: 'ended, not verified' },
  failed: { ko: '실패', en: 'failed' },
  verified: { ko: '확인됨', en: 'verified' },
  rejected: { ko: '거절됨', en: 'rejected' },
  retrying: { ko: '다시 하는 중', en: 'tried again' },
  abandoned: { ko: '그만둠', en: 'given up' },
});

export const delegationTones: Record<string, Tone> = {
  spawned: 'active',
  running: 'active',
  completed: 'waiting',
  failed: 'blocked',
  verified: 'done',
  rejected: 'no_reply',
  retrying: 'active',
  abandoned: 'no_reply',
};

export const w = words({
  unnamed: { ko: '내용을 모름', en: 'not known what' },
  retries: {
    ko: (n: number, most: number) => `${most}번 중 ${n}번 다시 함`,
    en: (n: number, most: number) => `tried again ${n} of ${most} times`,
  },
  ended: { ko: '끝남', en: 'ended' },
});
