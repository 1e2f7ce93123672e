import type { Server } from '../tests/stage/server.ts';
import { enc } from '../tests/stage/tour.ts';

/** A page of each kind, with what the server has. */
export async function places(server: Server): Promise<Record<string, string>> {
  const sessions = await server.api('work-sessions?include=summary&status=ACTIVE,QUIET,ARCHIVED&limit=10');
  const session = sessions.sessions.find(({ threads }: { threads: unknown[] }) => threads.length > 0);
  const { tasks } = await server.api('tasks?limit=1');
  const { agents } = await server.api('agents');
  return {
    now: '',
    conversations: 'c?cat=all',
    session: `c/${enc(session.workSessionId)}?cat=all`,
    thread: `c/${enc(session.workSessionId)}/${enc(session.threads[0].id)}?cat=all`,
    tasks: 'tasks',
    // Tasks are listed where their files are; a log alone has none.
    ...(tasks[0] ? { task: `tasks/${enc(tasks[0].id)}?agent=${enc(tasks[0].agentId)}` } : {}),
    agents: 'agents',
    agent: `agents/${enc(agents[0].id)}`,
    search: `search?q=${enc('배포')}`,
    health: 'health',
  };
}
