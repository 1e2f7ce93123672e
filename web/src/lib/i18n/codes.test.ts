import { expect, it } from 'vitest';
import list from './codes.json';
import * as codes from './codes';
import { healthReasons } from './health';
import { healthSteps } from './healthSteps';
import { problemKinds, problemNotes, problemSentence, type Stuck } from './problems';
import { owedKinds, owedStates } from '../owed/words';
import { routingReasons, routingWarnings } from './routing';
import { configCodes } from '../../pages/settings/words';
import { locale, type Word } from './index.svelte';

/** Dictionary of each list of codes that the page shows. */
const dictionaries: Record<string, Record<string, Word>> = {
  AgentStatus: codes.agentStatuses,
  BotState: codes.botStates,
  Category: codes.categories,
  ConfigCode: configCodes,
  CollaborationDelivery: codes.deliveries,
  CollaborationStatus: codes.collaborationStatuses,
  ContinuationKind: codes.continuationKinds,
  ContinuationReason: codes.continuationReasons,
  FlowOutcome: codes.flowOutcomes,
  FlowPhase: codes.flowPhases,
  HealthCode: healthReasons,
  Outcome: codes.outcomes,
  OwedKind: owedKinds,
  OwedState: owedStates,
  ProblemKind: problemKinds,
  ProjectionState: codes.projectionStates,
  ReasonCode: codes.reasons,
  Role: codes.roles,
  RoutingReason: routingReasons,
  RoutingWarning: routingWarnings,
  RunState: codes.runStates,
  SessionStatus: codes.sessionStatuses,
  TaskPriority: codes.priorities,
  TaskState: codes.taskStates,
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
