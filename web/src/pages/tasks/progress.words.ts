import type { Schemas } from '$lib/api/client';
import { dictionary, type Phrase } from '$lib/i18n/index.svelte';

/** What a sentence is made of: who decided, to whom, why or what, how many, and hours. Each may be empty. */
export interface Facts {
  by: string;
  to: string;
  text: string;
  count: number;
  hours: number;
}

const saying = (sentence: string, detail: string) => (detail ? `${sentence}: ${detail}` : sentence);
const times = (n: number) => (n === 1 ? 'once' : `${n} times`);
const span = (n: number) => (n === 1 ? '1 hour' : `${n} hours`);
const steps = (n: number) => (n === 1 ? '1 step' : `${n} steps`);

/** Sentences for what the server wrote into the progress of a task. */
export const taskLines: Record<Schemas['TaskLineCode'], Phrase<[Facts]>> = dictionary({
  started: { ko: () => '작업 시작', en: () => 'Task started' },
  awaits_approval: { ko: () => '작업을 만들고 승인을 기다림', en: () => 'Task created, waits for approval' },
  approved: { ko: ({ by }: Facts) => `승인됨 · ${by}`, en: ({ by }: Facts) => `Approved by ${by}` },
  rejected: {
    ko: ({ by, text }: Facts) => saying(`거절됨 · ${by}`, text),
    en: ({ by, text }: Facts) => saying(`Rejected by ${by}`, text),
  },
  backlog_added: {
    ko: ({ by }: Facts) => (by ? `백로그에 넣음 · ${by}` : '백로그에 넣음'),
    en: ({ by }: Facts) => (by ? `Added to the backlog by ${by}` : 'Added to the backlog'),
  },
  backlog_picked: { ko: () => '백로그에서 꺼내 시작', en: () => 'Picked from the backlog' },
  blocked: { ko: ({ text }: Facts) => `막힘: ${text}`, en: ({ text }: Facts) => `Blocked: ${text}` },
  resumed: {
    ko: ({ by, text }: Facts) => saying(by ? `다시 시작됨 · ${by}` : '다시 시작됨', text),
    en: ({ by, text }: Facts) => saying(by ? `Resumed by ${by}` : 'Resumed', text),
  },
  reassigned: {
    ko: ({ by, to }: Facts) => `${to}에게 넘김 · ${by}`,
    en: ({ by, to }: Facts) => `Given to ${to} by ${by}`,
  },
  cancelled: { ko: ({ text }: Facts) => saying('취소됨', text), en: ({ text }: Facts) => saying('Cancelled', text) },
  forced: {
    ko: ({ text }: Facts) => `남은 단계가 있지만 완료함: ${text}`,
    en: ({ text }: Facts) => `Completed with steps left: ${text}`,
  },
  stop_guard: {
    ko: ({ count }: Facts) => `단계가 ${count}개 남아 완료할 수 없었음`,
    en: ({ count }: Facts) => `Could not be completed: ${steps(count)} left`,
  },
  completed: { ko: ({ text }: Facts) => saying('완료됨', text), en: ({ text }: Facts) => saying('Completed', text) },
  unblock_asked: {
    ko: ({ to, count }: Facts) => `${to}에게 풀어 달라고 ${count}번째 요청`,
    en: ({ to, count }: Facts) => `Request ${count} to ${to} to unblock it`,
  },
  unblock_failed: {
    ko: ({ to }: Facts) => `${to}에게 보낸 요청이 전달되지 않음`,
    en: ({ to }: Facts) => `The request to ${to} was not delivered`,
  },
  unblock_in_vain: {
    ko: ({ count }: Facts) => `${count}번 풀어 달라고 요청했지만 풀리지 않음`,
    en: ({ count }: Facts) => `Asked ${times(count)} to unblock it, in vain`,
  },
  unblock_not_reached: {
    ko: () => '풀 수 있는 에이전트에게 요청이 전달되지 않음',
    en: () => 'Those who could unblock it could not be reached',
  },
  unblock_no_helper: {
    ko: () => '풀어 달라고 요청할 수 있는 에이전트가 없음',
    en: () => 'No agent may be asked to unblock it',
  },
  returned: {
    ko: ({ hours }: Facts) => `${hours}시간 동안 진행이 없어 백로그로 되돌림`,
    en: ({ hours }: Facts) => `Returned to the backlog after ${span(hours)} without progress`,
  },
  interrupted: {
    ko: ({ hours, count }: Facts) => `${hours}시간 동안 진행이 없어 멈춤 (${count}번째)`,
    en: ({ hours, count }: Facts) => `Interrupted after ${span(hours)} without progress, ${times(count)} in all`,
  },
  steps_defined: {
    ko: ({ count }: Facts) => `단계 ${count}개를 정함`,
    en: ({ count }: Facts) => `Divided into ${steps(count)}`,
  },
  steps_reordered: { ko: () => '단계의 순서를 바꿈', en: () => 'Order of the steps changed' },
  step_added: { ko: ({ text }: Facts) => `단계 더함: ${text}`, en: ({ text }: Facts) => `Step added: ${text}` },
  step_completed: { ko: ({ text }: Facts) => `단계 끝남: ${text}`, en: ({ text }: Facts) => `Step done: ${text}` },
  step_skipped: { ko: ({ text }: Facts) => `단계 건너뜀: ${text}`, en: ({ text }: Facts) => `Step skipped: ${text}` },
  step_started: { ko: ({ text }: Facts) => `단계 시작: ${text}`, en: ({ text }: Facts) => `Step started: ${text}` },
});
