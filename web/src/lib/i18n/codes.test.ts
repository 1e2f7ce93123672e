import { expect, it } from 'vitest';
import list from './codes.json';
import * as codes from './codes';
import { policyRules } from './agents';
import { channelNames } from './channels';
import { healthReasons } from './health';
import { healthSteps } from './healthSteps';
import { problemKinds, problemNotes, problemSentence, type Stuck } from './problems';
import { askedOf } from '../owed/asked';
import { owedKinds, owedPrompts, owedStates, type Owed } from '../owed/words';
import { lineText, outcomeText } from '../../pages/tasks/progress';
import { taskLines } from '../../pages/tasks/progress.words';
import { sandboxChecks } from '../../pages/agents/sandbox.words';
import { deliveries as scheduledDeliveries, ends as scheduledEnds } from '../../pages/schedules/words';
import { configCodes } from '../../pages/settings/words';
import { callStates, serverStates } from '../../pages/tools/states.words';
import { routingReasons, routingWarnings } from '../../pages/why/routing.words';
import { locale, type Word } from './index.svelte';

/** Dictionary of each list of codes that the page shows. */
const dictionaries: Record<string, Record<string, Word>> = {
  AgentStatus: codes.agentStatuses,
  BotState: codes.botStates,
  Category: codes.categories,
  ChannelName: channelNames,
  ConfigCode: configCodes,
  ClusterRole: codes.clusterRoles,
  CollaborationDelivery: codes.deliveries,
  CollaborationStatus: codes.collaborationStatuses,
  ContinuationKind: codes.continuationKinds,
  ContinuationReason: codes.continuationReasons,
  FlowOutcome: codes.flowOutcomes,
  FlowPhase: codes.flowPhases,
  HealthCode: healthReasons,
  MCPState: serverStates,
  Outcome: codes.outcomes,
  OwedKind: owedKinds,
  OwedState: owedStates,
  PolicyRule: policyRules,
  ProblemKind: problemKinds,
  ProjectionState: codes.projectionStates,
  ReasonCode: codes.reasons,
  Role: codes.roles,
  RoutingReason: routingReasons,
  RoutingWarning: routingWarnings,
  RunState: codes.runStates,
  SandboxCheck: sandboxChecks,
  ScheduledDelivery: scheduledDeliveries,
  ScheduledEnd: scheduledEnds,
  SessionStatus: codes.sessionStatuses,
  TaskPriority: codes.priorities,
  TaskState: codes.taskStates,
  ToolCallState: callStates,
  WaitStatus: codes.waitStatuses,
};

it('says in both languages what to do about each reason', () => {
  expect(Object.keys(healthSteps).sort()).toEqual(Object.keys(healthReasons).sort());
});

it('says in the language of the page why something was given up, what it was, and what to do', () => {
  const dead = {
    kind: 'dead',
    code: 'rate_limited',
    reason: '429 Too Many Requests',
    fields: { effect: 'discord', attempt: 3 },
  } as unknown as Stuck;
  locale.language = 'ko';
  expect(problemSentence(dead)).toBe('모델의 사용 한도를 넘었습니다.');
  expect(problemNotes(dead)[0]).toBe('포기한 일: Discord 게시.');
  expect(problemSentence({ ...dead, code: 'other' })).toBe('429 Too Many Requests');
  const low = { kind: 'warning', code: 'disk_low', fields: { hint: 'free some space' } } as unknown as Stuck;
  expect(problemNotes(low)).toEqual(['디스크에 공간을 만드세요.']);
  locale.language = 'en';
  expect(problemNotes(low)).toEqual(['Free some space on the disk.', 'free some space']);
});

it.each(Object.entries(dictionaries))('%s has words for each code of the API, and no others', (name, dictionary) => {
  const wanted = (list as Record<string, string[]>)[name];
  expect(Object.keys(dictionary).sort()).toEqual([...(wanted ?? [])].sort());
  for (const { ko, en } of Object.values(dictionary)) {
    expect(ko).toMatch(/[가-힣A-Z]/);
    expect(en).not.toMatch(/[가-힣]/);
    expect(en).not.toBe('');
  }
});

it('says in the language of the page what the server wrote into the progress of a task', () => {
  expect(Object.keys(taskLines).sort()).toEqual(list.TaskLineCode.toSorted());
  const steps = [{ id: 's2', content: '전략 추가', status: 'pending', order: 2 }] as const;
  const said = () =>
    [
      { text: '[BLOCKED] 키 대기', code: 'blocked', reason: '키 대기' } as const,
      { text: '[FORCE COMPLETE] Steps left: s2', code: 'forced', steps: ['s2'] } as const,
      { text: 'Task resumed by 병욱', code: 'resumed', by: '병욱' } as const,
      { text: 'Moved to backlog: no activity for 25 h', code: 'returned', hours: 25 } as const,
      { text: 'half of it' },
    ].map((line) => lineText(line as Parameters<typeof lineText>[0], [...steps]));
  locale.language = 'ko';
  expect(said()).toEqual([
    '막힘: 키 대기',
    '남은 단계가 있지만 완료함: 전략 추가',
    '다시 시작됨 · 병욱',
    '25시간 동안 진행이 없어 백로그로 되돌림',
    'half of it',
  ]);
  const interrupted = { text: 'Interrupted: no activity for 26 h, for the 3rd time', code: 'interrupted' } as const;
  const lines = [{ text: 'half of it' }, { ...interrupted, hours: 26, count: 3 }];
  const why = { kind: 'interrupted', reason: 'no work for 26 h' };
  expect(outcomeText(why, lines, [])).toBe('26시간 동안 진행이 없어 멈춤 (3번째)');
  expect(outcomeText(why, [], [])).toBe('멈춤');
  expect(outcomeText({ kind: 'completed', summary: '배포함' }, lines, [])).toBe('배포함');
  locale.language = 'en';
  expect(said()).toEqual([
    'Blocked: 키 대기',
    'Completed with steps left: 전략 추가',
    'Resumed by 병욱',
    'Returned to the backlog after 25 hours without progress',
    'half of it',
  ]);
});

it('says in the language of the page what the server asked in the name of an agent', () => {
  expect(Object.keys(owedPrompts).sort()).toEqual(list.OwedPrompt.filter((code) => code !== 'other').toSorted());
  const item = { from: 'eden', text: 'Agent eden cannot go on', prompt: 'unblock', taskTitle: '외부 API 연동' } as Owed;
  locale.language = 'ko';
  expect(askedOf(item)).toBe('“외부 API 연동” 작업이 막혀서 풀어 달라는 요청');
  expect(askedOf({ ...item, taskTitle: undefined })).toBe('eden의 작업이 막혀서 풀어 달라는 요청');
  expect(askedOf({ ...item, prompt: undefined })).toBe('Agent eden cannot go on');
  locale.language = 'en';
  expect(askedOf(item)).toBe('Asks to unblock “외부 API 연동”');
});
