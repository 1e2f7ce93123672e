import { ApiError, Building, read, type Answer, type PathOf, type QueryOf, type ReadPath } from '$lib/api/client';
import { placeOf, type ShownAt } from '$lib/places';
import type { QueryChange } from '$lib/router.svelte';
import type { Candidate } from './candidates';

export type Found = ShownAt & { query?: QueryChange };

/** Waits for the snapshot of a point in time, and answers null for what does not exist. */
async function ask<P extends ReadPath>(
  path: P,
  options: { path?: PathOf<P>; query?: Partial<QueryOf<P>> },
  asOf: number | null,
  signal: AbortSignal,
): Promise<Answer<P> | null> {
  for (;;) {
    try {
      const answer = await read(path, { ...(options as object), asOf, signal });
      if (!(answer instanceof Building)) return answer.data;
      await new Promise((resume) => setTimeout(resume, answer.retryAfterMs));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // A text that cannot be an id of that kind is no such id.
      if (error.status === 404 || error.code === 'invalid_parameter' || error.code === 'too_long') return null;
      throw error;
    }
    if (signal.aborted) return null;
  }
}

/** Where a candidate is shown, or null if nothing has its id. Throws ApiError if it cannot be known. */
export async function lookUp({ kind, id }: Candidate, asOf: number | null, signal: AbortSignal): Promise<Found | null> {
  switch (kind) {
    case 'task': {
      const answer = await ask('/api/tasks/{id}', { path: { id } }, asOf, signal);
      return answer && { path: ['tasks', answer.task.id], hash: '' };
    }
    case 'session': {
      const answer = await ask('/api/work-sessions/{id}', { path: { id } }, asOf, signal);
      return answer && { path: ['c', id], hash: '' };
    }
    case 'event': {
      const seq = Number(id);
      const answer = await ask('/api/events', { query: { scope: 'all', after: seq - 1, limit: 1 } }, asOf, signal);
      const event = answer?.events[0];
      return event && event.seq === seq ? elsewhere(placeOf(event)) : null;
    }
    case 'trace': {
      const answer = await ask('/api/trace/{id}', { path: { id } }, asOf, signal);
      return answer && ofTrace(answer);
    }
    case 'work': {
      const answer = await ask('/api/work', { query: { limit: 1000 } }, asOf, signal);
      const item = answer?.items.find(({ effectId }) => effectId === id);
      return item?.owner ? { path: ['agents', item.owner], query: { tab: 'queue' }, hash: '' } : null;
    }
    case 'collaboration': {
      const answer = await ask('/api/collaborations/{id}', { path: { id } }, asOf, signal);
      return answer && ofSession(answer.collaboration, answer.collaboration.fromAgent);
    }
    case 'message': {
      const answer = await ask('/api/routing/{messageId}', { path: { messageId: id } }, asOf, signal);
      return answer && { path: ['why', id], hash: '' };
    }
    case 'agent': {
      const answer = await ask('/api/agents', {}, asOf, signal);
      const agent = answer?.agents.find((one) => one.id === id || one.name === id);
      return agent ? { path: ['agents', agent.id], hash: '' } : null;
    }
  }
}

/** An event that no page shows would be looked up for ever. */
const elsewhere = (place: ShownAt): Found | null => (place.path[0] === 'go' ? null : place);

function ofTrace({ trace }: Answer<'/api/trace/{id}'>): Found | null {
  if (trace.workSession) return { path: ['c', trace.workSession.id], hash: '' };
  type Node = (typeof trace.roots)[number];
  const find = (nodes: readonly Node[]): Node | undefined => {
    for (const node of nodes) {
      const inside = node.asked ? node : find(node.children ?? []);
      if (inside) return inside;
    }
    return undefined;
  };
  const node = find(trace.roots) ?? trace.roots[0];
  if (!node) return null;
  if (node.workSessionId && node.conversationId)
    return { path: ['c', node.workSessionId, `conv:${node.conversationId}`], hash: `e${node.seq}` };
  return ofSession(node, node.agent ?? node.from);
}

function ofSession(item: { workSessionId?: string; taskId?: string }, agentId: string | undefined): Found | null {
  if (item.taskId) return { path: ['tasks', item.taskId], hash: '' };
  if (item.workSessionId) return { path: ['c', item.workSessionId], hash: '' };
  return agentId ? { path: ['agents', agentId], hash: '' } : null;
}
