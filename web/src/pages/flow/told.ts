import { agents } from '$lib/agents.svelte';
import { flowOutcomes, flowPhases, outcomes, reasons, runStates } from '$lib/i18n/codes';
import { runCauses, runTones } from '$lib/i18n/agents';
import { t, type Word } from '$lib/i18n/index.svelte';
import type { Tone } from '$lib/ui/Badge.svelte';
import type { Lane, Layout, Span, TraceNode } from './layout';
import { roles, w } from './words';

/** What a node is, in a few words: its role, or what it was requested by. */
export function whatOf(node: TraceNode): string {
  switch (node.kind) {
    case 'run': {
      if (node.role) return t(roles[node.role]);
      const cause = node.cause ? runCauses[node.cause] : undefined;
      return cause ? `${t(w.run)} · ${t(cause)}` : node.cause ? `${t(w.run)} · ${node.cause}` : t(w.run);
    }
    case 'flow':
      return t(node.of === 'spawn' ? w.spawn : w.flow);
    case 'message':
      return t(w.message);
    default:
      return t(w.thread);
  }
}

/** The state of a node as the server gives it, with its tone. */
export function stateOf(node: TraceNode): { label: string; tone: Tone } {
  const text = (entries: Record<string, Word | undefined>, code: string | undefined) => {
    const word = code === undefined ? undefined : entries[code];
    return word ? t(word) : code;
  };
  if (node.kind === 'run')
    return {
      label: text(runStates, node.state) ?? '',
      tone: (runTones as Record<string, Tone | undefined>)[node.state ?? ''] ?? 'quiet',
    };
  if (node.kind === 'flow') {
    if (node.open) return { label: text(flowPhases, node.state) ?? t(w.ongoing), tone: 'waiting' };
    const tone = node.outcome === 'ok' ? 'done' : node.outcome === 'no_reply' ? 'no_reply' : 'blocked';
    return { label: text(flowOutcomes, node.outcome) ?? t(w.over), tone: node.outcome ? tone : 'quiet' };
  }
  const known = (outcomes as Record<string, Word | undefined>)[node.outcome ?? ''];
  if (known) return { label: t(known), tone: node.outcome as Tone };
  return node.open ? { label: t(w.ongoing), tone: 'active' } : { label: t(w.over), tone: 'quiet' };
}

/** Why a node failed, as a sentence of its code. */
export const reasonOf = ({ reasonCode }: TraceNode): string => (reasonCode ? t(reasons[reasonCode]) : '');

export const agentOf = (node: TraceNode): string => node.agent ?? node.from ?? '';

export const nameOf = (lane: Pick<Lane, 'agent' | 'sub'>): string =>
  lane.sub ? `${agents.nameOf(lane.agent)} (${t(w.sub)})` : agents.nameOf(lane.agent);

/** Time of a span that it waited and that it ran. */
export function timesOf(span: Span): { waited: number; ran: number } {
  const times = { waited: 0, ran: 0 };
  for (const { kind, from, to } of span.parts) times[kind === 'run' ? 'ran' : 'waited'] += to - from;
  return times;
}

/**
 * Path and fragment of where a node is shown in its conversation; null if it is in none. A run is shown at what its agent then said in the flow
 * that it belongs to.
 */
export function placeOf({ spans }: Pick<Layout, 'spans'>, index: number): { path: string[]; hash: string } | null {
  const { node } = spans[index]!;
  let above = spans[index];
  while (above && !above.node.messages?.length) above = spans[above.parent];
  const said = above?.node.messages ?? [];
  const session = node.workSessionId ?? above?.node.workSessionId;
  if (!session) return null;
  const conversation = node.conversationId ?? above?.node.conversationId;
  const thread = node.kind === 'thread' ? node.id : conversation ? `conv:${conversation}` : null;
  const own = said.find(({ from, at }) => node.kind === 'run' && from === node.agent && at >= node.at);
  return {
    path: ['c', session, ...(thread ? [thread] : [])],
    hash: `e${(own ?? said[0])?.seq ?? node.seq}`,
  };
}
