import type { Answer, Schemas } from '$lib/api/client';

export type Trace = Answer<'/api/trace/{id}'>['trace'];
export type TraceNode = Schemas['TraceNode'];

/** What a node did in a part of its time. `permit` and `backoff` wait for leave to begin, `queue` for its turn, `wait` for an answer. */
export interface Part {
  kind: 'permit' | 'backoff' | 'queue' | 'run' | 'wait';
  from: number;
  to: number;
}

/** A node at its place. Its parts follow one another without gaps from `from` to `to`, in ms since 1970. */
export interface Span {
  index: number;
  key: string;
  node: TraceNode;
  lane: number;
  row: number;
  from: number;
  to: number;
  parts: Part[];
  /** Index of the cause, -1 for a root. */
  parent: number;
  children: number[];
  failed: boolean;
}

export interface Mark {
  kind: 'start' | 'message' | 'block' | 'late';
  at: number;
  lane: number;
  row: number;
  span: number;
}

/** Something passed from one lane to another. A reply goes back to the lane that has asked. */
export interface Link {
  kind: 'send' | 'reply' | 'spawn';
  from: { at: number; lane: number; row: number };
  to: { at: number; lane: number; row: number };
  span: number;
}

/** An agent, or sub-agents with its name that another lane has started, which stand below that lane. */
export interface Lane {
  key: string;
  agent: string;
  sub: boolean;
  depth: number;
  /** Indices of its spans: row by row, in order of time, without overlap. */
  rows: number[][];
}

/** A time in which nothing happened. */
export interface Gap {
  from: number;
  to: number;
}

export interface Layout {
  lanes: Lane[];
  spans: Span[];
  marks: Mark[];
  links: Link[];
  from: number;
  to: number;
  gaps: Gap[];
}

/** Idle times longer than this are folded. */
export const foldAfterMs = 5 * 60_000;
/** Nothing is folded where less time than this would be left to draw. */
const leastLeftMs = 1000;

export const keyOf = (node: Pick<TraceNode, 'kind' | 'id'>): string => `${node.kind}:${node.id}`;

/** Whether the server gives a reason why a node failed, or an outcome without an answer. */
const hasFailed = ({ reasonCode, outcome }: TraceNode): boolean =>
  reasonCode !== undefined || outcome === 'blocked' || outcome === 'no_reply';

/**
 * Places the nodes of a trace: each agent has a lane, in order of first appearance. `now` is where open nodes end. It depends on its arguments
 * only, and its cost grows with n log n.
 */
export function layOut(trace: Pick<Trace, 'roots'>, now: number): Layout {
  const making = new Making(now);
  making.walk(trace.roots);
  return making.finish();
}

interface Draft {
  key: string;
  agent: string;
  sub: boolean;
  above: string | null;
  first: number;
  spans: number[];
}

interface Place {
  lane: string;
  at: number;
}

class Making {
  #lanes = new Map<string, Draft>();
  #spans: (Span & { place: string })[] = [];
  #links: { kind: Link['kind']; from: Place & { span: number }; to: Place & { span: number }; span: number }[] = [];
  #marks: { kind: Mark['kind']; at: number; place: string; span: number }[] = [];
  /** Lane to which the flow or conversation of a span leads, by index. */
  #targets = new Map<number, string>();

  constructor(readonly now: number) {}

  #lane(agent: string, at: number, above: string | null = null): string {
    const key = above === null ? agent : `${above}>${agent}`;
    const lane = this.#lanes.get(key);
    if (lane) lane.first = Math.min(lane.first, at);
    else this.#lanes.set(key, { key, agent, sub: above !== null, above, first: at, spans: [] });
    return key;
  }

  /** Visits parents before children, without recursion, because a chain may be long. */
  walk(roots: readonly TraceNode[]): void {
    const stack: { node: TraceNode; parent: number }[] = [...roots].reverse().map((node) => ({ node, parent: -1 }));
    for (let next = stack.pop(); next; next = stack.pop()) {
      const span = this.#add(next.node, next.parent);
      for (const child of [...(next.node.children ?? [])].reverse()) stack.push({ node: child, parent: span });
    }
    for (const span of this.#spans) if (span.node.kind === 'flow') this.#join(span);
  }

  #add(node: TraceNode, parent: number): number {
    const index = this.#spans.length;
    const cause = this.#spans[parent];
    const place = this.#placeOf(node, cause);
    const parts = partsOf(node, this.now);
    const from = parts[0]?.from ?? node.at;
    const to = parts.at(-1)?.to ?? node.at;
    const span = {
      index,
      key: keyOf(node),
      node,
      lane: 0,
      row: 0,
      from,
      to,
      parts,
      parent,
      children: [],
      failed: hasFailed(node),
      place,
    };
    this.#spans.push(span);
    this.#lanes.get(place)!.spans.push(index);
    cause?.children.push(index);
    if (!cause) this.#marks.push({ kind: 'start', at: from, place, span: index });
    if (span.failed && !node.open) this.#marks.push({ kind: 'block', at: to, place, span: index });
    if (node.late) this.#marks.push({ kind: 'late', at: to, place, span: index });
    if (node.kind === 'flow' || node.kind === 'conversation' || node.kind === 'thread') this.#lead(span);
    if (node.kind === 'message') this.#marks.push({ kind: 'message', at: node.at, place, span: index });
    return index;
  }

  #placeOf(node: TraceNode, cause: (Span & { place: string }) | undefined): string {
    const agent = node.agent ?? node.from ?? node.to ?? '';
    if (cause && cause.node.kind !== 'run') {
      const target = this.#targets.get(cause.index);
      if (target !== undefined && this.#lanes.get(target)!.agent === agent) return this.#again(target, node.at);
      if (this.#lanes.get(cause.place)!.agent === agent) return this.#again(cause.place, node.at);
    }
    if (cause && this.#lanes.get(cause.place)!.agent === agent) return this.#again(cause.place, node.at);
    return this.#lane(agent, node.at, node.lane === 'subagent' ? '' : null);
  }

  /** A lane that exists, now also at a time. */
  #again(key: string, at: number): string {
    const lane = this.#lanes.get(key)!;
    lane.first = Math.min(lane.first, at);
    return key;
  }

  /** Where a flow or a conversation leads, and what its messages show. */
  #lead(span: Span & { place: string }): void {
    const { node, index, place } = span;
    const messages = node.messages ?? [];
    const spawns = node.of === 'spawn' || messages.some(({ type }) => type === 'a2a.spawn');
    if (node.to) this.#targets.set(index, this.#lane(node.to, node.at, spawns ? place : null));
    if (node.kind === 'flow') return;
    const target = this.#targets.get(index);
    const laneOf = (agent: string | undefined, at: number): string | null => {
      if (!agent) return null;
      if (target !== undefined && this.#lanes.get(target)!.agent === agent) return this.#again(target, at);
      return this.#lanes.get(place)!.agent === agent ? place : this.#lane(agent, at);
    };
    for (const { type, from, to, at, outcome } of messages) {
      const kind = linkOf[type];
      const [source, goal] = [laneOf(from, at), laneOf(to, at)];
      if (kind && source !== null && goal !== null && source !== goal) {
        this.#links.push({
          kind,
          from: { lane: source, at, span: index },
          to: { lane: goal, at, span: index },
          span: index,
        });
      } else this.#marks.push({ kind: 'message', at, place: source ?? place, span: index });
      if ((outcome === 'blocked' || outcome === 'no_reply') && !(at === span.to && span.failed))
        this.#marks.push({ kind: 'block', at, place: source ?? place, span: index });
    }
  }

  /** The way of a flow to its first run, and of the answer back. */
  #join(span: Span & { place: string }): void {
    const { node, index, place } = span;
    const target = this.#targets.get(index);
    if (target === undefined || target === place) return;
    const runs = span.children
      .map((child) => this.#spans[child]!)
      .filter((child) => child.node.kind === 'run' && child.place === target);
    const first = runs.reduce<Span | null>((best, run) => (best === null || run.from < best.from ? run : best), null);
    this.#links.push({
      kind: node.of === 'spawn' ? 'spawn' : 'send',
      from: { lane: place, at: span.from, span: index },
      to: { lane: target, at: Math.max(span.from, first?.from ?? span.from), span: first?.index ?? -1 },
      span: index,
    });
    if (node.open || span.failed) return;
    const last = runs
      .filter((run) => !run.node.open && run.to <= span.to)
      .reduce<Span | null>((best, run) => (best === null || run.to > best.to ? run : best), null);
    if (!last) return;
    this.#links.push({
      kind: 'reply',
      from: { lane: target, at: last.to, span: last.index },
      to: { lane: place, at: span.to, span: index },
      span: index,
    });
  }

  finish(): Layout {
    const drafts = this.#order();
    const number = new Map(drafts.map(({ lane }, index) => [lane.key, index]));
    const lanes = drafts.map(({ lane, depth }): Lane => {
      const rows = packed(lane.spans.map((index) => this.#spans[index]!));
      rows.forEach((row, at) => row.forEach((index) => (this.#spans[index]!.row = at)));
      return { key: lane.key, agent: lane.agent, sub: lane.sub, depth, rows: rows.length > 0 ? rows : [[]] };
    });
    for (const span of this.#spans) span.lane = number.get(span.place)!;
    const place = ({ lane, at, span }: Place & { span: number }) => {
      const index = number.get(lane)!;
      return { at, lane: index, row: span >= 0 && this.#spans[span]!.lane === index ? this.#spans[span]!.row : 0 };
    };
    const links = this.#links.map(({ kind, from, to, span }): Link => ({
      kind,
      from: place(from),
      to: place(to),
      span,
    }));
    const marks = this.#marks.map(({ kind, at, place: lane, span }): Mark => ({
      kind,
      span,
      ...place({ lane, at, span }),
    }));
    let [from, to] = [Infinity, -Infinity];
    for (const span of this.#spans) [from, to] = [Math.min(from, span.from), Math.max(to, span.to)];
    for (const mark of marks) [from, to] = [Math.min(from, mark.at), Math.max(to, mark.at)];
    for (const link of links)
      [from, to] = [Math.min(from, link.from.at, link.to.at), Math.max(to, link.from.at, link.to.at)];
    if (from > to) [from, to] = [this.now, this.now];
    return { lanes, spans: this.#spans, marks, links, from, to, gaps: gapsOf(this.#spans, marks, links) };
  }

  /** Lanes in order of first appearance, sub-agents below what has started them. */
  #order(): { lane: Draft; depth: number }[] {
    const below = new Map<string | null, Draft[]>();
    for (const lane of this.#lanes.values()) {
      const above = lane.above !== null && this.#lanes.has(lane.above) ? lane.above : null;
      const list = below.get(above);
      if (list) list.push(lane);
      else below.set(above, [lane]);
    }
    for (const list of below.values()) list.sort((a, b) => a.first - b.first);
    const order: { lane: Draft; depth: number }[] = [];
    const stack = (below.get(null) ?? []).toReversed().map((lane) => ({ lane, depth: 0 }));
    for (let next = stack.pop(); next; next = stack.pop()) {
      order.push(next);
      for (const lane of (below.get(next.lane.key) ?? []).toReversed()) stack.push({ lane, depth: next.depth + 1 });
    }
    return order;
  }
}

const linkOf: Record<string, Link['kind'] | undefined> = {
  'a2a.send': 'send',
  'a2a.response': 'reply',
  'a2a.spawn': 'spawn',
  'a2a.spawn_result': 'reply',
};

/** The time of a node in parts. Times of the log that contradict each other give parts without length, never parts that overlap. */
function partsOf(node: TraceNode, now: number): Part[] {
  const { at } = node;
  const end = Math.max(at, node.endedAt ?? (node.open ? now : at + node.durationMs));
  const parts: Part[] = [];
  let from = at;
  const until = (kind: Part['kind'], to: number) => {
    const stop = Math.min(Math.max(from, to), end);
    if (stop > from) parts.push({ kind, from, to: stop });
    from = stop;
  };
  if (node.kind === 'run') {
    until('backoff', at + (node.backoffMs ?? 0));
    until('queue', node.startedAt ?? end);
    until('run', end);
  } else {
    until('permit', at + (node.permitMs ?? 0));
    until('wait', end);
  }
  if (parts.length === 0) parts.push({ kind: node.kind === 'run' ? 'run' : 'wait', from: at, to: at });
  return parts;
}

/** Spans in as few rows as their overlaps allow, each in the first row that is free. */
function packed(spans: Span[]): number[][] {
  const rows: number[][] = [];
  const free = new FreeRows(spans.length);
  for (const span of spans.toSorted((a, b) => a.from - b.from || a.index - b.index)) {
    // A span without length still takes its place, so that two of the same moment are both seen.
    const row = free.take(span.from, Math.max(span.to, span.from + 1));
    (rows[row] ??= []).push(span.index);
  }
  return rows;
}

/** Until when each row is taken: a tree of least times, so that the first free row is found without a look at all of them. */
class FreeRows {
  #size = 1;
  #least: Float64Array;

  constructor(rows: number) {
    while (this.#size < rows) this.#size *= 2;
    this.#least = new Float64Array(2 * this.#size).fill(-Infinity);
  }

  /** The first row that is free at `from`, which is then taken until `to`. */
  take(from: number, to: number): number {
    let at = 1;
    while (at < this.#size) at = this.#least[2 * at]! <= from ? 2 * at : 2 * at + 1;
    const row = at - this.#size;
    this.#least[at] = to;
    for (at >>= 1; at >= 1; at >>= 1) this.#least[at] = Math.min(this.#least[2 * at]!, this.#least[2 * at + 1]!);
    return row;
  }
}

/**
 * Idle times: no agent runs or waits for a turn, and nothing is passed on. Waiting for an answer is idle, unless there is nothing but waiting.
 */
function gapsOf(spans: readonly Span[], marks: readonly Mark[], links: readonly Link[]): Gap[] {
  const busy: [from: number, to: number][] = [];
  for (const { node, from, to } of spans) {
    if (node.kind === 'run') busy.push([from, to]);
    else busy.push([from, from], [to, to]);
  }
  for (const { at } of marks) busy.push([at, at]);
  for (const { from, to } of links) busy.push([from.at, from.at], [to.at, to.at]);
  busy.sort((a, b) => a[0] - b[0]);
  const gaps: Gap[] = [];
  let end = busy[0]?.[1] ?? 0;
  for (const [from, to] of busy) {
    if (from - end > foldAfterMs) gaps.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  const folded = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  return end - (busy[0]?.[0] ?? 0) - folded < leastLeftMs ? [] : gaps;
}
