import type { Event, Frame } from './client';

/**
 * What a frame makes stale. A key is a kind, as `tasks`, or a kind with an id, as `task:task_1`. Pages declare the keys of what they
 * show; they never change what they have by guessing.
 */
export type Key =
  | 'events'
  | 'sessions'
  | `session:${string}`
  | 'tasks'
  | `task:${string}`
  | 'agents'
  | `agent:${string}`
  | 'plans'
  | 'approvals'
  | 'runs'
  | 'work'
  | 'owed'
  | `collab:${string}`
  | 'problems'
  | 'config'
  | 'discord'
  | 'schedules'
  | 'tools'
  | 'sandboxes'
  | 'migrations';

/** Types of events by their beginning, and the kinds that they change. */
const kinds: [prefix: string, Key[]][] = [
  ['a2a.', ['sessions', 'owed', 'problems', 'agents']],
  ['delegation.', ['sessions', 'tasks', 'owed']],
  ['thread.', ['sessions', 'discord']],
  ['session.', ['sessions', 'agents']],
  ['work_session.', ['sessions']],
  ['task.', ['tasks', 'agents', 'problems', 'approvals']],
  ['unblock.', ['tasks', 'agents', 'problems']],
  ['zombie.', ['tasks', 'agents', 'problems']],
  ['backlog.', ['tasks', 'agents']],
  ['milestone.', ['tasks']],
  ['plan.', ['plans', 'approvals', 'agents', 'problems']],
  ['continuation.', ['agents', 'problems']],
  ['run.', ['runs', 'agents', 'problems', 'work']],
  ['work.', ['work', 'agents', 'problems']],
  ['discord.', ['discord', 'owed', 'problems']],
  ['collab.', ['owed', 'problems']],
  ['config.', ['config', 'agents', 'problems']],
  ['file.', ['tasks', 'plans', 'approvals', 'agents', 'problems']],
  ['gateway.', ['agents', 'runs', 'problems']],
  ['identity.', ['discord', 'agents']],
  ['import.', ['problems', 'migrations']],
  ['cron.', ['schedules']],
  ['tool.', ['tools']],
  ['sandbox.', ['sandboxes']],
];
/** These change what is told of other events, whichever they are. */
const everything = /^(log|projection)\./;

export function staleByEvents(events: Event[], affectedWorkSessions: string[]): Set<Key> | 'all' {
  if (events.some(({ type }) => everything.test(type))) return 'all';
  const keys = new Set<Key>(['events']);
  for (const id of affectedWorkSessions) {
    keys.add('sessions');
    keys.add(`session:${bare(id)}`);
  }
  for (const event of events) {
    for (const [prefix, stale] of kinds) if (event.type.startsWith(prefix)) stale.forEach((key) => keys.add(key));
    const record = event as Record<string, unknown>;
    const data = event.data as Record<string, unknown>;
    for (const agent of [record.agentId, record.from, record.to])
      if (typeof agent === 'string') keys.add(`agent:${agent}`);
    for (const task of [record.taskId, data?.taskId]) if (typeof task === 'string') keys.add(`task:${task}`);
  }
  return keys;
}

export function staleByHint(frame: Frame): Set<Key> {
  const keys = new Set<Key>();
  const data = (frame.data ?? {}) as Record<string, unknown>;
  if (frame.taskId) keys.add(`task:${frame.taskId}`);
  if (frame.agentId) keys.add(`agent:${frame.agentId}`);
  const stale: Record<string, Key[]> = {
    work_session_update: ['sessions'],
    config_update: ['config', 'agents', 'problems'],
    task_update: ['tasks', 'agents', 'approvals', 'problems'],
    task_step_update: ['tasks', 'agents'],
    agent_update: ['agents'],
    team_state_update: ['agents'],
    plan_update: ['plans', 'approvals'],
    collaboration_update: ['owed', 'problems'],
    approval_update: ['approvals', 'agents', 'problems'],
    work_update: ['work', 'problems', 'agents'],
    run_update: ['runs', 'agents', 'problems'],
    event_log: ['events'],
  };
  stale[frame.type]?.forEach((key) => keys.add(key));
  if (typeof data.workSessionId === 'string') keys.add(`session:${bare(data.workSessionId)}`);
  if (typeof data.collabId === 'string') keys.add(`collab:${data.collabId}`);
  return keys;
}

/** Work sessions are named with and without the prefix ws:. */
const bare = (id: string): string => id.replace(/^ws:/, '');
