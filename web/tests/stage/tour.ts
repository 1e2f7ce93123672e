import type { Hub } from './test.ts';

/** Ids are percent-encoded once, as the API reads them. */
export const enc = encodeURIComponent;

export interface SampleSession {
  workSessionId: string;
  title: string;
  outcome: string | null;
  status: string;
  threads: { id: string; fromAgent: string; toAgent: string; outcome: string | null; eventCount: number }[];
}

/** Every work session of a server, also the archived ones. */
export async function everySession(hub: Pick<Hub, 'api'>): Promise<SampleSession[]> {
  const all: SampleSession[] = [];
  let cursor = '';
  do {
    const page: { sessions: SampleSession[]; nextCursor: string | null } = await hub.api(
      `work-sessions?status=ACTIVE,QUIET,ARCHIVED&include=summary&limit=50${cursor && `&cursor=${enc(cursor)}`}`,
    );
    all.push(...page.sessions);
    cursor = page.nextCursor ?? '';
  } while (cursor !== '');
  return all;
}

/** Paths of everything that shows what agents wrote: each page, each work session, and each of its threads. */
export async function everyPlace(hub: Pick<Hub, 'api'>): Promise<string[]> {
  const places = [
    '',
    'c?cat=all',
    'tasks',
    'tasks?view=list',
    'tasks?view=deps',
    'agents',
    'inbox',
    'inbox?tab=dead',
    'inbox?tab=decided',
    'owed',
    'owed?open=false',
    'schedules',
    'tools',
    'search?q=배포',
    'search?q=task',
    'health',
    'log?scope=all',
    'log?problems=1',
    'settings',
    'settings/config',
    'settings/migrations',
    'why',
    'why?tab=threads',
    'chat/eden',
  ];
  for (const { workSessionId, threads } of await everySession(hub)) {
    places.push(`c/${enc(workSessionId)}?cat=all&process=1`, `flow/${enc(workSessionId)}?view=table`);
    for (const thread of threads) places.push(`c/${enc(workSessionId)}/${enc(thread.id)}?cat=all`);
  }
  const { tasks } = await hub.api<{ tasks: { id: string; agentId: string }[] }>('tasks?limit=200');
  for (const { id, agentId } of tasks) places.push(`tasks/${enc(id)}?agent=${enc(agentId)}`);
  const { agents } = await hub.api<{ agents: { id: string }[] }>('agents');
  for (const { id } of agents) places.push(`agents/${enc(id)}`);
  return places;
}
