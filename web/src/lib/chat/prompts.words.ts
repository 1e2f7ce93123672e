import { words } from '../i18n/index.svelte';
import { withParticle } from '../i18n/particles';

/** What the program tells an agent, by kind of prompt. `about` is the name of the task or plan, in quotes, and empty where none is known. */
const of = (ko: string, about: string) => (about ? `${about} ${ko}` : ko);

export const w = words({
  automatic: { ko: (line: string) => `자동 안내: ${line}`, en: (line: string) => `Automatic: ${line}` },
  quoted: { ko: (name: string) => `‘${name}’`, en: (name: string) => `“${name}”` },
  other: { ko: '프로그램이 에이전트에게 보낸 글', en: 'a text of the program for the agent' },
  next: {
    ko: (about: string) => of('작업의 다음 단계를 이어 가라는 안내', about),
    en: (about: string) => `go on with the next step of ${about || 'the task'}`,
  },
  idle: {
    ko: (about: string) => of('작업에 한동안 움직임이 없으니 이어 가라는 안내', about),
    en: (about: string) => `nothing has happened to ${about || 'the task'} for a while; go on with it`,
  },
  divide: {
    ko: (about: string) => of('작업을 단계로 나누라는 안내', about),
    en: (about: string) => `divide ${about || 'the task'} into steps`,
  },
  stuck: {
    ko: (about: string) => of('작업이 같은 단계에 머물러 있으니 길을 고르라는 안내', about),
    en: (about: string) => `${about || 'the task'} stays at the same step; choose a way out`,
  },
  noProgress: {
    ko: (about: string) => of('작업이 나아가지 않으니 길을 고르라는 안내', about),
    en: (about: string) => `${about || 'the task'} makes no progress; choose a way out`,
  },
  backlog: {
    ko: (about: string) => of('작업을 백로그에서 꺼냈으니 시작하라는 안내', about),
    en: (about: string) => `${about || 'a task'} was taken from the backlog; begin with it`,
  },
  unblock: {
    ko: (about: string) => of('작업이 막혀 있으니 풀어 달라는 요청', about),
    en: (about: string) => `${about || 'a task'} is blocked; help to unblock it`,
  },
  unblockLast: {
    ko: (about: string) => of('작업이 막혀 있으니 풀어 달라는 마지막 요청', about),
    en: (about: string) => `${about || 'a task'} is still blocked; the last request to unblock it`,
  },
  stillBlocked: {
    ko: (about: string) => of('작업이 아직 막혀 있는지 묻는 안내', about),
    en: (about: string) => `is ${about || 'the task'} still blocked?`,
  },
  nobodyHelps: {
    ko: (about: string) => of('작업이 막힌 채이니 도울 사람을 찾으라는 알림', about),
    en: (about: string) => `${about || 'a task'} stays blocked; find out who can help`,
  },
  neverStarts: {
    ko: (about: string) => of('작업은 백로그에서 시작될 수 없으니 결정하라는 알림', about),
    en: (about: string) => `${about || 'a task'} in a backlog can never start; decide what becomes of it`,
  },
  interrupted: {
    ko: (about: string) => of('작업이 오래 나아가지 않아 멈췄으니 결정하라는 알림', about),
    en: (about: string) => `${about || 'a task'} was interrupted after a long time without progress; decide`,
  },
  restart: {
    ko: (about: string) => of('서버가 다시 시작되었으니 하던 일을 확인하고 이어 가라는 안내', about),
    en: (about: string) => `the server was restarted; check ${about || 'what was being done'} and go on`,
  },
  taskApproved: {
    ko: (about: string) => of('작업이 승인되었으니 시작하라는 알림', about),
    en: (about: string) => `${about || 'the task'} was approved; begin with it`,
  },
  taskRejected: {
    ko: (about: string) => of('작업이 거절되었다는 알림', about),
    en: (about: string) => `${about || 'the task'} was rejected`,
  },
  taskCancelled: {
    ko: (about: string) => of('작업이 취소되었으니 멈추라는 알림', about),
    en: (about: string) => `${about || 'the task'} was cancelled; stop working at it`,
  },
  taskResumed: {
    ko: (about: string) => of('작업의 막힘이 풀렸으니 이어 가라는 알림', about),
    en: (about: string) => `${about || 'the task'} was resumed; go on with it`,
  },
  planApproved: {
    ko: (about: string) => of('계획이 승인되었으니 그대로 하라는 알림', about),
    en: (about: string) => `the plan ${about} was approved; do what it says`.replace('  ', ' '),
  },
  planRejected: {
    ko: (about: string) => of('계획이 거절되었다는 알림', about),
    en: (about: string) => `the plan ${about} was rejected`.replace('  ', ' '),
  },
  answeredIn: {
    ko: (who: string) => `${withParticle(who, '이/가')} 협업 요청에 한 답`,
    en: (who: string) => `the answer of ${who} to a request`,
  },
  notPosted: {
    ko: (who: string) => `${who}에게 보낸 협업 요청이 올라가지 않았다는 알림`,
    en: (who: string) => `the request to ${who} was not posted`,
  },
  postUnknown: {
    ko: (who: string) => `${who}에게 보낸 협업 요청이 올라갔는지 알 수 없다는 알림`,
    en: (who: string) => `it is not known whether the request to ${who} was posted`,
  },
  cannotAnswer: {
    ko: (who: string) => `스레드가 없어져 ${withParticle(who, '이/가')} 답할 수 없다는 알림`,
    en: (who: string) => `${who} can no longer answer, because the thread is gone`,
  },
  askedHere: {
    ko: (who: string) => `이 스레드에서 ${who}에게 물은 것`,
    en: (who: string) => `what was asked of ${who} in this thread`,
  },
  noAnswer: {
    ko: '물은 것에 답을 받지 못했다는 알림',
    en: 'there was no answer to what was asked',
  },
});
