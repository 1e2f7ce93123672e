import type { Stuck } from './i18n/problems';
import { href } from './router.svelte';

/** Address of where a problem is: the conversation at its event, the task, the agent, or the health of the server. */
export function problemPlace({ kind, agentId, refs }: Stuck): string {
  if (refs.ws) return href(['c', refs.ws, ...(refs.thread ? [refs.thread] : [])], {}, refs.seq ? `e${refs.seq}` : '');
  if (refs.task) return href(['tasks', refs.task], { agent: agentId });
  if (kind === 'not_ready' || kind === 'warning' || kind === 'bot_down') return href('health');
  return agentId ? href(['agents', agentId]) : href('health');
}

/** Whether a problem is one of this agent: it is stuck, or waits for an answer, or owes it. */
export const concerns = ({ agentId, fields }: Pick<Stuck, 'agentId' | 'fields'>, agent: string): boolean =>
  [agentId, fields.from, fields.to].includes(agent);
