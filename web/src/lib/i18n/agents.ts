import type { Schemas } from '../api/client';
import type { Tone } from '../ui/Badge.svelte';
import { agents } from '../agents.svelte';
import { channelNames } from './channels';
import { t, words, type Word, dictionary } from './index.svelte';
import { withParticle } from './particles';

export const runTones: Record<Schemas['RunState'], Tone> = {
  queued: 'waiting',
  running: 'active',
  ok: 'done',
  error: 'blocked',
  aborted: 'no_reply',
  timed_out: 'blocked',
};

/** In a list, reasons of agents that rest are shorter. */
export const restingReasons: Partial<Record<Schemas['ContinuationReason'], Word>> = dictionary({
  done: { ko: '할 일 없음', en: 'nothing to do' },
});

/** What a run was requested by. Other clients may name themselves. */
export const runCauses: Record<string, Word> = dictionary({
  continuation: { ko: '이어가기', en: 'continuation' },
  a2a: { ko: '다른 에이전트', en: 'another agent' },
  ...channelNames,
  chat: { ko: '채팅', en: 'chat' },
  approval: { ko: '승인이나 거절', en: 'approval or rejection' },
  spawn: { ko: '하위 에이전트로 시작', en: 'start as a sub-agent' },
  subagent: { ko: '하위 에이전트의 결과', en: 'result of a sub-agent' },
  hook: { ko: '웹훅', en: 'webhook' },
  agent: { ko: '명령줄', en: 'command line' },
  cron: { ko: '예약', en: 'schedule' },
  http: { ko: 'HTTP', en: 'HTTP' },
});

/** Why prompts of the continuation failed. An imported log may have other causes. */
export const continuationCauses: Record<string, Word> = dictionary({
  rate_limit: { ko: '모델의 사용 한도를 넘었습니다.', en: 'The rate limit of the model is reached.' },
  billing: { ko: '모델 제공자의 결제에 문제가 있습니다.', en: 'The provider of the model has a billing problem.' },
  auth: { ko: '모델 제공자가 인증을 거절했습니다.', en: 'The provider refused the credentials.' },
  timeout: { ko: '실행이 너무 오래 걸렸습니다.', en: 'The run took too long.' },
  context_overflow: { ko: '컨텍스트가 너무 깁니다.', en: 'The context is too long.' },
  unknown: { ko: '이유를 알 수 없습니다.', en: 'The cause is unknown.' },
});

/** Kinds of queued work. The server has more than the page knows. */
export const workKinds: Record<string, Word> = dictionary({
  run: { ko: '실행', en: 'run' },
  job: { ko: '전달', en: 'delivery' },
  discord: { ko: 'Discord 게시', en: 'Discord post' },
  telegram: { ko: 'Telegram 게시', en: 'Telegram post' },
  slack: { ko: 'Slack 게시', en: 'Slack post' },
  webhook: { ko: '웹훅', en: 'webhook' },
  collab_tracker: { ko: '협업 요청 살피기', en: 'watch of a request' },
  milestone: { ko: '마일스톤 맞추기', en: 'milestone update' },
  'cron.check': { ko: '예약의 확인 명령', en: 'check of a scheduled job' },
  subagent_cleanup: { ko: '하위 에이전트 정리', en: 'clean-up of a sub-agent' },
});

export const workStates: Record<Schemas['WorkState'], Word> = dictionary({
  waiting: { ko: '기다림', en: 'waiting' },
  leased: { ko: '하는 중', en: 'in progress' },
  dead: { ko: '포기됨', en: 'given up' },
});
export const workTones: Record<Schemas['WorkState'], Tone> = { waiting: 'waiting', leased: 'active', dead: 'blocked' };

/** Rules of the policy between agents. */
export const policyRules: Record<Schemas['PolicyRule'], Word> = dictionary({
  same_agent: { ko: '같은 에이전트', en: 'the same agent' },
  allow_agents: { ko: '시작할 수 있는 에이전트 목록', en: 'list of agents that may be started' },
  visibility: { ko: '세션 공개 범위', en: 'visibility of sessions' },
  tool_policy: { ko: '도구 정책', en: 'policy of tools' },
  disabled: { ko: '에이전트 사이 대화 꺼짐', en: 'messages between agents are off' },
  pair: { ko: '두 에이전트의 규칙', en: 'rule for the two agents' },
  allow_list: { ko: '허용 목록', en: 'list of allowed agents' },
  open: { ko: '모두 허용', en: 'everything is allowed' },
});

const w = words({
  nothing: { ko: '지금은 아무것도 하지 않습니다.', en: 'Nothing is done now.' },
  continue: {
    ko: (name: string, task: string) => `${name}에게 ${task} 이어서 하라고 알립니다.`,
    en: (name: string, task: string) => `${name} is prompted to continue ${task}.`,
  },
  pick: {
    ko: (name: string, task: string) => `${withParticle(name, '이/가')} 백로그에서 ${task} 시작합니다.`,
    en: (name: string, task: string) => `${name} starts ${task} from the backlog.`,
  },
  ask: {
    ko: (name: string, task: string, to: string) => `${to}에게 ${name}의 ${task} 풀어 달라고 요청합니다.`,
    en: (name: string, task: string, to: string) => `${to} is asked to unblock ${task} of ${name}.`,
  },
  remind: {
    ko: (name: string, task: string) => `${name}에게 ${task} 아직 풀지 못했는지 묻습니다.`,
    en: (name: string, task: string) => `${name} is asked whether ${task} is still blocked.`,
  },
  recover: {
    ko: (_: string, task: string) => `오래 움직이지 않은 ${task} 백로그로 되돌리거나 멈춥니다.`,
    en: (_: string, task: string) => `Without progress for long, ${task} returns to the backlog or is interrupted.`,
  },
  wrong: {
    ko: (name: string, task: string) => `${name}에게 무엇 때문에 ${task} 나아가지 못하는지 묻습니다.`,
    en: (name: string, task: string) => `${name} is asked what prevents ${task}.`,
  },
  escalate: {
    ko: (name: string, task: string, to: string) => `${name}의 ${task} 풀지 못한다고 ${to}에게 알립니다.`,
    en: (name: string, task: string, to: string) => `${to} is told that ${task} of ${name} cannot go on.`,
  },
  reset: {
    ko: (name: string) => `${name}의 세션을 비우고 다시 시작합니다.`,
    en: (name: string) => `The session of ${name} is reset.`,
  },
  restart: {
    ko: (name: string) => `서버가 다시 시작되어 ${name}에게 열린 작업을 알립니다.`,
    en: (name: string) => `After the restart of the server ${name} is told about its open tasks.`,
  },
  people: { ko: '사람', en: 'People' },
  task: { ko: '작업', en: 'its task' },
});

type Decision = Schemas['Continuation']['decision'];

/** What the continuation would do now, as a sentence. `task` is the description of the task, if it is known. */
export function decisionSentence(agentId: string, decision: Decision, task: string | undefined): string {
  const name = agents.nameOf(agentId);
  const title = task ? `“${task}”` : t(w.task);
  const object = t({ ko: withParticle(title, '을/를'), en: title });
  const to = decision.to ? agents.nameOf(decision.to) : t(w.people);
  const { kind } = decision;
  if (kind === 'nothing') return t(w.nothing);
  if (kind === 'escalate' && decision.to === agentId)
    return t(w.wrong, name, t({ ko: withParticle(title, '이/가'), en: title }));
  return t(w[kind], name, object, to);
}
