import { expect, it } from 'vitest';
import type { Event } from './client';
import { staleByEvents, staleByHint } from './stale';

const event = (type: string, more: object = {}) => ({ type, seq: 1, data: {}, ...more }) as unknown as Event;

it('names the sessions of events, with and without their prefix', () => {
  const keys = staleByEvents([event('a2a.send', { from: 'eden', to: 'seum' })], ['ws:ws_1', 'ws_2']);
  expect([...keys].sort()).toEqual(
    [
      'agent:eden',
      'agent:seum',
      'agents',
      'events',
      'owed',
      'problems',
      'session:ws_1',
      'session:ws_2',
      'sessions',
    ].sort(),
  );
});

it('names the task of an event', () => {
  const keys = staleByEvents([event('task.completed', { agentId: 'eden', data: { taskId: 'task_1' } })], []);
  for (const key of ['task:task_1', 'tasks', 'agent:eden', 'problems'] as const) expect(keys).toContain(key);
});

it('names what schedules, tools and sandboxes change', () => {
  const keys = staleByEvents([event('cron.run.due'), event('tool.ended'), event('sandbox.probed')], []);
  for (const key of ['schedules', 'tools', 'sandboxes'] as const) expect(keys).toContain(key);
});

it('reads hints', () => {
  const keys = staleByHint({ type: 'task_step_update', agentId: 'eden', taskId: 'task_1', timestamp: '', data: {} });
  expect([...keys].sort()).toEqual(['agent:eden', 'agents', 'task:task_1', 'tasks']);
  expect(staleByHint({ type: 'collaboration_update', timestamp: '', data: { collabId: 'c1' } })).toContain('collab:c1');
  expect(staleByHint({ type: 'work_session_update', timestamp: '', data: { workSessionId: 'ws:x' } })).toContain(
    'session:x',
  );
});

it('reads the hints about approvals, work and runs', () => {
  const hint = (type: string) => [...staleByHint({ type, agentId: 'eden', timestamp: '', data: { seq: 4 } })].sort();
  expect(hint('approval_update')).toEqual(['agent:eden', 'agents', 'approvals', 'problems']);
  expect(hint('work_update')).toEqual(['agent:eden', 'agents', 'problems', 'work']);
  expect(hint('run_update')).toEqual(['agent:eden', 'agents', 'problems', 'runs']);
});

it('ignores unknown frames', () => {
  expect([...staleByHint({ type: 'new_kind', timestamp: '' })]).toEqual([]);
});

it('names what files, gateways and redactions change', () => {
  const ofFile = staleByEvents([event('file.changed', { data: { taskId: 'task_1' } })], []);
  for (const key of ['tasks', 'task:task_1', 'plans', 'approvals', 'agents'] as const) expect(ofFile).toContain(key);
  expect(staleByEvents([event('gateway.stopped')], [])).toContain('agents');
  expect(staleByEvents([event('task.started'), event('log.redacted')], [])).toBe('all');
});
