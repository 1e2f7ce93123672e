import { expect, it } from 'vitest';
import list from './codes.json';
import * as codes from './codes';
import { healthReasons } from './health';
import { owedKinds, owedStates } from '../owed/words';
import { problemKinds } from './problems';
import { routingReasons, routingWarnings } from './routing';
import type { Word } from './index.svelte';

/** Dictionary of each list of codes that the page shows. */
const dictionaries: Record<string, Record<string, Word>> = {
  AgentStatus: codes.agentStatuses,
  BotState: codes.botStates,
  Category: codes.categories,
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

it.each(Object.entries(dictionaries))('%s has words for each code of the API, and no others', (name, dictionary) => {
  const wanted = (list as Record<string, string[]>)[name];
  expect(Object.keys(dictionary).sort()).toEqual([...(wanted ?? [])].sort());
  for (const { ko, en } of Object.values(dictionary)) {
    expect(ko).toMatch(/[가-힣A-Z]/);
    expect(en).not.toMatch(/[가-힣]/);
    expect(en).not.toBe('');
  }
});
