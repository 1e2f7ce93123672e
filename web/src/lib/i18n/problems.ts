import type { Schemas } from '../api/client';
import { agents } from '../agents.svelte';
import { channelNames } from './channels';
import { reasonSentence } from './codes';
import { clockTime, list } from './format';
import { workKinds } from './agents';
import { healthReasons } from './health';
import { healthSteps } from './healthSteps';
import { locale, t, words, type Word, dictionary } from './index.svelte';
import { withParticle } from './particles';

export type Stuck = Schemas['StuckProblem'];

export const problemKinds: Record<Schemas['ProblemKind'], Word> = dictionary({
  not_ready: { ko: '준비 안 됨', en: 'Not ready' },
  dead: { ko: '포기됨', en: 'Given up' },
  blocked: { ko: '막힘', en: 'Blocked' },
  no_reply: { ko: '답 없음', en: 'No reply' },
  task_blocked: { ko: '작업 막힘', en: 'Task blocked' },
  escalated: { ko: '사람에게 넘어옴', en: 'Escalated' },
  backoff: { ko: '거듭 실패', en: 'Failing' },
  stuck_run: { ko: '멈춘 실행', en: 'Stuck run' },
  overdue: { ko: '늦은 답', en: 'Overdue' },
  suspended: { ko: '대화방 정지', en: 'Suspended' },
  bot_down: { ko: '봇 끊김', en: 'Bot offline' },
  warning: { ko: '경고', en: 'Warning' },
});

const w = words({
  noAnswer: {
    ko: '알림 뒤에도 답이 없어서 사람에게 넘어왔습니다.',
    en: 'There was no answer after the reminders, so it was passed on to people.',
  },
  notDelivered: {
    ko: '전달되지 않아서 사람에게 넘어왔습니다.',
    en: 'It could not be delivered, so it was passed on to people.',
  },
  nobodyToAsk: {
    ko: '풀어 줄 에이전트가 없어서 사람에게 넘어왔습니다.',
    en: 'No agent can unblock it, so it was passed on to people.',
  },
  dependencyGone: { ko: '기다리던 작업이 끝날 수 없습니다.', en: 'The task that it waits for cannot be completed.' },
  failures: {
    ko: (n: number) => `연속 ${n}번 실패했습니다.`,
    en: (n: number) => (n === 1 ? 'It failed once.' : `It failed ${n} times in a row.`),
  },
  answerYourself: {
    ko: '직접 답하거나, 상대가 하는 일을 보고 다시 물어보세요.',
    en: 'Answer it yourself, or see what the agent is doing and ask again.',
  },
  until: { ko: (time: string) => `${time}에 다시 합니다.`, en: (time: string) => `It is tried again at ${time}.` },
  ends: { ko: (time: string) => `${time}에 풀립니다.`, en: (time: string) => `It ends at ${time}.` },
  runningLong: { ko: '실행이 10분 넘게 끝나지 않습니다.', en: 'The run has taken more than 10 minutes.' },
  laneFree: { ko: '자리가 있는데 실행이 시작되지 않습니다.', en: 'The run does not start although there is room.' },
  reminded: { ko: '정해진 시간이 지나 알림을 보냈습니다.', en: 'The time is over, and a reminder was sent.' },
  checkMissed: { ko: '확인할 때가 지났는데 확인되지 않았습니다.', en: 'It was not checked when it was due.' },
  suspended: {
    ko: '봇끼리 되풀이되어 이 대화방을 멈췄습니다.',
    en: 'Bots repeated each other, so this place was suspended.',
  },
  botDown: {
    ko: (channel: string) => `봇이 ${channel}에 연결되어 있지 않습니다.`,
    en: (channel: string) => `The bot is not connected to ${channel}.`,
  },
  givenUp: { ko: (what: string) => `포기한 일: ${what}.`, en: (what: string) => `Given up: ${what}.` },
  attempts: {
    ko: (n: number) => `${n}번 시도했습니다.`,
    en: (n: number) => (n === 1 ? 'Tried once.' : `Tried ${n} times.`),
  },
  asked: {
    ko: (who: string, n: number) => `${who}에게 ${n}번 요청했지만 답이 없습니다.`,
    en: (who: string, n: number) =>
      `${who} ${n === 1 ? 'was asked once' : `was asked ${n} times`} and has not answered.`,
  },
  canUnblock: {
    ko: (who: string) => `${withParticle(who, '이/가')} 풀 수 있습니다.`,
    en: (who: string) => `${who} can unblock it.`,
  },
});

/** Codes of problems other than those of conversations, by what they say. */
const sentences: Record<string, Word> = dictionary({
  'escalated no_answer': w.noAnswer,
  'escalated not_delivered': w.notDelivered,
  'escalated nobody_to_ask': w.nobodyToAsk,
  'escalated dependency_gone': w.dependencyGone,
  'backoff rate_limit': { ko: '모델의 사용 한도를 넘었습니다.', en: 'The rate limit of the model is reached.' },
  'backoff billing': {
    ko: '모델 제공자의 결제에 문제가 있습니다.',
    en: 'The provider of the model has a billing problem.',
  },
  'backoff auth': { ko: '모델 제공자가 인증을 거절했습니다.', en: 'The provider refused the credentials.' },
  'backoff timeout': { ko: '모델이 제때 답하지 않았습니다.', en: 'The model did not answer in time.' },
  'backoff context_overflow': { ko: '컨텍스트가 너무 깁니다.', en: 'The context is too long.' },
  'backoff context_reset': {
    ko: '컨텍스트가 너무 길어 세션을 비웠습니다.',
    en: 'The context was too long, so the session was reset.',
  },
  'backoff unknown': { ko: '실행이 거듭 실패했습니다.', en: 'Runs keep failing.' },
  'stuck_run running_long': w.runningLong,
  'stuck_run lane_free': w.laneFree,
  'overdue reminded': w.reminded,
  'overdue check_missed': w.checkMissed,
});

/** What to do about a reason, where something can be done. */
const advice: Record<string, Word> = dictionary({
  context_too_long: {
    ko: '답할 에이전트에게 /new를 보내 세션을 비우고 다시 물어보세요. 그대로 보내면 같은 결과입니다.',
    en: 'Send /new to the agent that answers, which clears its session, and ask again; as it is, it fails again.',
  },
  model_rejected: {
    ko: '모델 설정과 요청 내용을 확인하세요.',
    en: 'Check the configuration of the model and the request.',
  },
  rate_limited: { ko: '한도가 풀리면 다시 합니다.', en: 'It is tried again when the limit is over.' },
  overloaded: { ko: '잠시 뒤에 다시 물어보세요.', en: 'Ask again in a while.' },
  auth: { ko: '모델 제공자의 키를 확인하세요.', en: 'Check the key of the provider.' },
  billing: { ko: '모델 제공자의 결제를 확인하세요.', en: 'Check the billing of the provider.' },
  wait_timeout: {
    ko: '상대가 하는 일을 보고 다시 물어보세요.',
    en: 'See what the other agent is doing, and ask again.',
  },
  a2a_denied: { ko: '설정에서 두 에이전트의 대화를 허용하세요.', en: 'Allow the conversation in the configuration.' },
  agent_busy: { ko: '상대의 줄이 비면 다시 물어보세요.', en: 'Ask again when the queue of the agent is empty.' },
  empty_answer: { ko: '다시 물어보세요.', en: 'Ask again.' },
  run_not_found: { ko: '다시 물어보세요.', en: 'Ask again.' },
});

/** Why, in a sentence made of the code and the fields. */
export function problemSentence({ kind, code, reason, refs }: Stuck): string {
  switch (kind) {
    case 'not_ready':
    case 'warning': {
      const known = healthReasons[code as Schemas['HealthCode']];
      return known ? t(known) : (reason ?? '');
    }
    case 'suspended':
      return t(w.suspended);
    case 'bot_down':
      return t(w.botDown, t(channelNames[refs?.channel ?? 'discord']));
    case 'task_blocked':
      return reason ?? '';
    default: {
      const known = code ? sentences[`${kind} ${code}`] : undefined;
      return known ? t(known) : reasonSentence(code, reason);
    }
  }
}

/** What is known beyond the reason, and what can be done: short sentences. */
export function problemNotes({ kind, code, fields }: Stuck): string[] {
  const notes: string[] = [];
  if (kind === 'dead' && fields.effect) {
    const effect = workKinds[fields.effect];
    notes.push(t(w.givenUp, effect ? t(effect) : fields.effect));
  }
  if (fields.failures) notes.push(t(w.failures, fields.failures));
  if (fields.attempt && kind === 'dead') notes.push(t(w.attempts, fields.attempt));
  const helpers = fields.helpers?.map((id) => agents.nameOf(id)) ?? [];
  if (helpers.length > 0)
    notes.push(fields.requests ? t(w.asked, list(helpers), fields.requests) : t(w.canUnblock, list(helpers)));
  if (fields.untilMs) notes.push(t(kind === 'suspended' ? w.ends : w.until, clockTime(fields.untilMs, false)));
  if (code && advice[code]) notes.push(t(advice[code]));
  if (kind === 'escalated' && code === 'no_answer') notes.push(t(w.answerYourself));
  const step = kind === 'not_ready' || kind === 'warning' ? healthSteps[code as Schemas['HealthCode']] : undefined;
  if (step) notes.push(t(step));
  // The server's hint has names and places. It is English; the page it leads to has it.
  if (fields.hint && locale.language === 'en') notes.push(fields.hint);
  return notes;
}
