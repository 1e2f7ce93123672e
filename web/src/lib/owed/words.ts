import type { Schemas } from '../api/client';
import { dictionary, words, type Phrase, type Word } from '../i18n/index.svelte';
import { withParticle } from '../i18n/particles';
import type { Tone } from '../ui/Badge.svelte';

export type Owed = Schemas['OwedItem'];

export const owedKinds: Record<Schemas['OwedKind'], Word> = dictionary({
  flow: { ko: '전달', en: 'delivery' },
  handoff: { ko: '인계', en: 'handoff' },
  request: { ko: '협업 요청', en: 'request' },
});

/** How the answer stands. */
export const owedStates: Record<Schemas['OwedState'], Word> = dictionary({
  sending: { ko: '아직 못 물음', en: 'not asked yet' },
  waiting: { ko: '답을 기다림', en: 'waits for the answer' },
  reminded: { ko: '알림 보냄', en: 'reminded' },
  escalated: { ko: '사람에게 넘어옴', en: 'passed on to people' },
  answered: { ko: '답함', en: 'answered' },
  late: { ko: '늦게 답함', en: 'answered late' },
  undelivered: { ko: '전달 실패', en: 'not delivered' },
  no_reply: { ko: '답 없이 끝남', en: 'ended without an answer' },
  ended: { ko: '끝남', en: 'ended' },
  replaced: { ko: '새 인계로 바뀜', en: 'replaced by a newer one' },
});

export const owedTones: Record<Schemas['OwedState'], Tone> = {
  sending: 'waiting',
  waiting: 'waiting',
  reminded: 'waiting',
  escalated: 'blocked',
  answered: 'done',
  late: 'done',
  undelivered: 'blocked',
  no_reply: 'no_reply',
  ended: 'quiet',
  replaced: 'quiet',
};

/** What the server asks of an agent in the name of another, about a task. */
export const owedPrompts: Record<Exclude<Schemas['OwedPrompt'], 'other'>, Phrase<[task: string]>> = dictionary({
  unblock: {
    ko: (task: string) => `${withParticle(task, '이/가')} 막혀서 풀어 달라는 요청`,
    en: (task: string) => `Asks to unblock ${task}`,
  },
  unblock_last: {
    ko: (task: string) => `${withParticle(task, '이/가')} 막혀서 풀어 달라는 마지막 요청`,
    en: (task: string) => `Asks for the last time to unblock ${task}`,
  },
  escalation: {
    ko: (task: string) => `${withParticle(task, '을/를')} 어떻게 할지 정해 달라는 요청`,
    en: (task: string) => `Asks to decide what becomes of ${task}`,
  },
});

export const w = words({
  task: { ko: (title: string) => `“${title}” 작업`, en: (title: string) => `“${title}”` },
  itsTask: { ko: (name: string) => `${name}의 작업`, en: (name: string) => `a task of ${name}` },
  delivered: { ko: '전달됨', en: 'Delivered' },
  notDelivered: { ko: '아직 전달 안 됨', en: 'Not delivered yet' },
  never: { ko: '전달되지 않음', en: 'Not delivered' },
  overdue: { ko: '늦음', en: 'overdue' },
  reminders: { ko: (n: number, of: number) => `알림 ${n}/${of}`, en: (n: number, of: number) => `reminder ${n}/${of}` },
  remindersSoFar: { ko: (n: number) => `알림 ${n}번`, en: (n: number) => (n === 1 ? '1 reminder' : `${n} reminders`) },
  turns: {
    ko: (turn: number, of: number) => `${of}차례 중 ${turn}번째`,
    en: (turn: number, of: number) => `turn ${turn} of ${of}`,
  },
  next: { ko: (when: string) => `${when} 알림`, en: (when: string) => `reminder ${when}` },
  last: { ko: (when: string) => `${when} 사람에게`, en: (when: string) => `people are told ${when}` },
  check: { ko: (when: string) => `다음 확인 ${when}`, en: (when: string) => `next check ${when}` },
});
