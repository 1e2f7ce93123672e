import type { Event } from './live/client';

/** Where something is shown: segments of the path and the fragment. */
export interface ShownAt {
  path: string[];
  hash: string;
}

/**
 * The page that shows an event: its conversation, its work session, its task or its agent; without any of them the page that looks an event up.
 * It follows the ids that the event names.
 */
export function placeOf(event: Event): ShownAt {
  const record = event as Record<string, unknown>;
  const data = (event.data ?? {}) as Record<string, unknown>;
  const text = (key: string) => {
    const value = record[key] ?? data[key];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [session, conversation, task, agent] = [
    text('workSessionId'),
    text('conversationId'),
    text('taskId'),
    text('agentId'),
  ];
  const hash = `e${event.seq}`;
  if (session && conversation) return { path: ['c', session, `conv:${conversation}`], hash };
  if (task) return { path: ['tasks', task], hash: '' };
  if (session) return { path: ['c', session], hash };
  if (agent) return { path: ['agents', agent], hash: '' };
  return { path: ['go', `seq ${event.seq}`], hash: '' };
}
