import { describe, expect, it } from 'vitest';
import { foldAfterMs, layOut, type Layout, type TraceNode } from './layout';
import { mermaid } from './mermaid';
import { paint, sizes, spanAt, tops } from './paint';
import { edgePx, Scale, foldPx } from './scale';
import { walk } from './walk';

/** Numbers between 0 and 1 that depend on the seed only. */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const start = 1_800_000_000_000;
const now = start + 40 * 3_600_000;

/** A trace of runs that begin flows in which other runs answer. An effect is requested while its cause is under way. */
function made(seed: number, size: number): TraceNode[] {
  const next = random(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const agents = ['eden', 'seum', 'ruda', 'dajim', '이음'];
  let left = size;
  const node = (kind: 'run' | 'flow', at: number, within: number, agent: string, depth: number): TraceNode => {
    const id = `n${left--}`;
    const length = Math.floor(next() * within);
    const late = kind === 'run' && depth > 0 && next() < 0.05;
    const open = !late && next() < 0.02;
    const end = at + length + (late ? 5 * within : 0);
    const made: TraceNode = { kind, id, seq: size - left, at, durationMs: end - at };
    if (open) made.open = true;
    else made.endedAt = end;
    const other = pick(agents);
    if (kind === 'run') {
      made.agent = agent;
      made.late = late || undefined;
      if (next() < 0.9) made.startedAt = at + Math.floor((next() * length) / 2);
      made.backoffMs = next() < 0.1 ? Math.floor(length / 10) : undefined;
      if (next() < 0.1) made.reasonCode = 'run_timeout';
    } else {
      Object.assign(made, {
        from: agent,
        to: other,
        of: next() < 0.2 ? 'spawn' : 'send',
        permitMs: Math.floor(next() * 100),
      });
      if (next() < 0.2 && !open) made.outcome = 'no_reply';
    }
    made.children = [];
    while (left > 0 && depth < 30 && next() < 0.75) {
      const after = Math.floor(next() * length);
      made.children.push(
        kind === 'run'
          ? node('flow', at + after, length - after, agent, depth + 1)
          : node('run', at + after, length - after, other, depth + 1),
      );
    }
    return made;
  };
  const roots: TraceNode[] = [];
  while (left > 0) roots.push(node('run', start + Math.floor(next() * 36 * 3_600_000), 3_600_000, pick(agents), 0));
  return roots;
}

const cases = Array.from(
  { length: 40 },
  (_, seed) => [seed, layOut({ roots: made(seed, 5 + seed * 15) }, now)] as const,
);

describe('layOut', () => {
  it.each(cases)('puts no two spans of a lane at the same place (%i)', (_, layout) => {
    for (const [lane, { rows }] of layout.lanes.entries()) {
      for (const [row, indices] of rows.entries()) {
        indices.forEach((index, at) => {
          const span = layout.spans[index]!;
          expect([span.lane, span.row]).toEqual([lane, row]);
          const before = layout.spans[indices[at - 1]!];
          if (at > 0) expect(before!.to).toBeLessThanOrEqual(span.from);
        });
      }
    }
    const placed = layout.lanes.flatMap(({ rows }) => rows.flat());
    expect(placed.toSorted((a, b) => a - b)).toEqual(layout.spans.map(({ index }) => index));
  });

  it.each(cases)('has the parts of a span side by side, from its start to its end (%i)', (_, { spans }) => {
    for (const { parts, from, to } of spans) {
      expect(parts[0]!.from).toBe(from);
      expect(parts.at(-1)!.to).toBe(to);
      parts.forEach((part, at) => {
        expect(part.to).toBeGreaterThanOrEqual(part.from);
        if (at > 0) expect(part.from).toBe(parts[at - 1]!.to);
      });
    }
  });

  // An answer may come after its flow is over, and what is open ends now. All else lies within its cause.
  it.each(cases)('has every node within its cause, but late answers and what is open (%i)', (_, { spans }) => {
    for (const span of spans) {
      const cause = spans[span.parent];
      if (!cause) continue;
      expect(cause.children).toContain(span.index);
      expect(span.from).toBeGreaterThanOrEqual(cause.from);
      const free = (node: TraceNode) => node.late || node.open;
      let above: typeof cause | undefined = span;
      let exempt = false;
      for (; above; above = spans[above.parent]) exempt ||= Boolean(free(above.node));
      if (!exempt) expect(span.to).toBeLessThanOrEqual(cause.to);
    }
  });

  it.each(cases)('folds only times in which nothing happens (%i)', (_, layout) => {
    layout.gaps.forEach((gap, at) => {
      expect(gap.to - gap.from).toBeGreaterThan(foldAfterMs);
      if (at > 0) expect(gap.from).toBeGreaterThanOrEqual(layout.gaps[at - 1]!.to);
      for (const { node, from, to } of layout.spans)
        if (node.kind === 'run') expect(to <= gap.from || from >= gap.to).toBe(true);
      for (const mark of layout.marks) expect(mark.at <= gap.from || mark.at >= gap.to).toBe(true);
    });
  });

  it.each(cases)(
    'has a lane for each agent, in order of appearance, and sub-agents below what started them (%i)',
    (_, layout) => {
      const top = layout.lanes.filter(({ depth }) => depth === 0);
      const first = new Map<string, number>();
      const see = (lane: number, at: number) => {
        const { key } = layout.lanes[lane]!;
        first.set(key, Math.min(first.get(key) ?? Infinity, at));
      };
      layout.spans.forEach(({ lane, from }) => see(lane, from));
      layout.links.forEach(({ from, to }) => {
        see(from.lane, from.at);
        see(to.lane, from.at);
      });
      const times = top.map(({ key }) => first.get(key)!);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      layout.lanes.forEach((lane, at) => {
        if (lane.depth === 0) return;
        const above = layout.lanes.slice(0, at).findLast(({ depth }) => depth === lane.depth - 1)!;
        expect(lane.key).toBe(`${above.key}>${lane.agent}`);
      });
      expect(new Set(layout.lanes.map(({ key }) => key)).size).toBe(layout.lanes.length);
    },
  );

  it('takes a chain that is very long', () => {
    let node: TraceNode = { kind: 'run', id: 'last', seq: 1, at: start, durationMs: 1, agent: 'eden' };
    for (let i = 0; i < 20_000; i++)
      node = { kind: 'run', id: `r${i}`, seq: 1, at: start, durationMs: 1, agent: 'eden', children: [node] };
    expect(layOut({ roots: [node] }, now).spans).toHaveLength(20_001);
  });

  it('draws conversations of an imported log by their messages', () => {
    const message = (seq: number, type: string, from: string, to: string) => ({
      seq,
      id: `e${seq}`,
      at: start + seq * 1000,
      type,
      from,
      to,
    });
    const layout = layOut(
      {
        roots: [
          {
            kind: 'conversation', id: 'c', seq: 1, at: start + 1000, endedAt: start + 3000, durationMs: 2000, from: 'eden', to: 'seum', outcome: 'blocked',
            messages: [message(1, 'a2a.send', 'eden', 'seum'), message(2, 'a2a.response', 'seum', 'eden'), message(3, 'a2a.complete', 'eden', 'seum')],
          },
        ],
      },
      now,
    ); // prettier-ignore
    expect(layout.lanes.map(({ key }) => key)).toEqual(['eden', 'seum']);
    expect(layout.links.map(({ kind, from, to }) => [kind, from.lane, to.lane])).toEqual([
      ['send', 0, 1],
      ['reply', 1, 0],
    ]);
    expect(layout.marks.map(({ kind }) => kind).sort()).toEqual(['block', 'message', 'start']);
  });

  it('folds nothing where there is only waiting', () => {
    const waited = (end: number): TraceNode[] => [
      { kind: 'conversation', id: 'c', seq: 1, from: 'a', to: 'b', at: now, endedAt: now + end, durationMs: end },
    ];
    const answered: TraceNode = {
      kind: 'run',
      id: 'r',
      seq: 2,
      agent: 'b',
      at: now,
      endedAt: now + 5000,
      durationMs: 5000,
    };
    const end = 2 * foldAfterMs;
    expect(layOut({ roots: waited(end) }, now + end).gaps).toEqual([]);
    expect(layOut({ roots: [...waited(end), answered] }, now + end).gaps).toHaveLength(1);
  });

  it('is ready for an empty trace', () => {
    expect(layOut({ roots: [] }, now)).toMatchObject({ lanes: [], spans: [], from: now, to: now, gaps: [] });
  });

  it('places 3,000 spans', () => {
    const roots = made(7, 3000);
    let layout = layOut({ roots }, now);
    let took = Infinity;
    for (let round = 0; round < 10; round++) {
      const before = performance.now();
      layout = layOut({ roots }, now);
      took = Math.min(took, performance.now() - before);
    }
    console.info(`3,000 spans: ${took.toFixed(1)} ms`);
    expect(layout.spans).toHaveLength(3000);
    expect(took).toBeLessThan(2000); // only a cost of another order is a fault on a busy machine
  });
});

describe('Scale', () => {
  it.each(cases)('keeps the order of time, and leads back (%i)', (_, { from, to, gaps }) => {
    const scale = Scale.fitting(from, to, gaps, 1200);
    let before = -1;
    for (let i = 0; i <= 200; i++) {
      const time = from + ((to - from) * i) / 200;
      const x = scale.x(time);
      expect(x).toBeGreaterThanOrEqual(before);
      expect(Math.abs(scale.x(scale.time(x)) - x)).toBeLessThan(0.01);
      before = x;
    }
    for (const gap of gaps) expect(scale.x(gap.to) - scale.x(gap.from)).toBeCloseTo(foldPx, 3);
    expect(scale.width).toBeLessThan(Math.max(1201, 2 + gaps.length * foldPx + 2 * edgePx));
  });

  it('has a ruler without times that are folded, each apart from the next', () => {
    for (const [, { from, to, gaps }] of cases) {
      const scale = Scale.fitting(from, to, gaps, 3000);
      const ticks = scale.ticks(0, 3000, 90);
      ticks.forEach((time, at) => {
        expect(gaps.some((gap) => time > gap.from && time < gap.to)).toBe(false);
        if (at > 0) expect(scale.x(time) - scale.x(ticks[at - 1]!)).toBeGreaterThanOrEqual(90);
      });
    }
  });
});

describe('paint', () => {
  const view = { x: 0, y: 0, width: 1200, height: 600 };
  const drawn = (layout: Layout, zoom = 1) => {
    const scale = Scale.fitting(layout.from, layout.to, layout.gaps, 1200 * zoom);
    return { scale, lane: tops(layout) };
  };

  it('draws as few elements for many spans as for few', () => {
    const layout = layOut({ roots: made(3, 3000) }, now);
    for (const zoom of [1, 10, 100]) {
      const { scale, lane } = drawn(layout, zoom);
      const painting = paint(layout, scale, lane, view);
      expect(painting.texts.length).toBeLessThanOrEqual(400);
      for (const { span, x } of painting.texts) {
        // Beside the bar of the queue, not over it.
        const run = layout.spans[span]!.parts.find(({ kind }) => kind === 'run')!;
        expect(x).toBeCloseTo(Math.max(0, scale.x(run.from) - view.x), 0);
      }
      expect(Object.keys(painting.bars).length + Object.keys(painting.marks).length).toBeLessThan(20);
    }
  });

  it('draws nothing that is out of view', () => {
    const layout = layOut({ roots: made(5, 300) }, now);
    const { scale, lane } = drawn(layout);
    const outside = paint(layout, scale, lane, { ...view, y: lane.at(-1)! + 1000 });
    expect(Object.values(outside.bars).join('')).toBe('');
    expect(Object.values(outside.links).every(({ line }) => line === '')).toBe(true);
  });

  it('finds each span where it is drawn', () => {
    const layout = layOut({ roots: made(11, 400) }, now);
    const { scale, lane } = drawn(layout, 20);
    for (const span of layout.spans) {
      const y = lane[span.lane]! + sizes.pad + (span.row + 0.5) * sizes.row;
      const found = spanAt(layout, scale, lane, (scale.x(span.from) + scale.x(span.to)) / 2, y);
      expect(found).not.toBeNull();
      expect([layout.spans[found!]!.lane, layout.spans[found!]!.row]).toEqual([span.lane, span.row]);
    }
    expect(spanAt(layout, scale, lane, 10, lane.at(-1)! + 5)).toBeNull();
  });
});

describe('walk', () => {
  const layout = layOut({ roots: made(9, 120) }, now);
  it('goes to causes and effects, and back', () => {
    const parent = layout.spans.find(({ children }) => children.length > 0)!;
    const effect = walk(layout, parent.index, 'effect')!;
    expect(effect).toBe(parent.children[0]);
    expect(walk(layout, effect, 'cause')).toBe(parent.index);
    expect(walk(layout, null, 'down')).not.toBeNull();
  });
  it('reaches every lane by going down from the first', () => {
    let at = layout.lanes[0]!.rows.flat()[0]!;
    const seen = new Set([layout.spans[at]!.lane]);
    for (let i = 0; i < layout.lanes.length; i++) seen.add(layout.spans[(at = walk(layout, at, 'down')!)]!.lane);
    const filled = layout.lanes.flatMap(({ rows }, index) => (rows.flat().length > 0 ? [index] : []));
    expect([...seen].sort()).toEqual(filled.sort());
  });
});

describe('mermaid', () => {
  it('reads no text as syntax', () => {
    const message = {
      seq: 1,
      id: 'e',
      at: start,
      type: 'a2a.send',
      from: 'eden',
      to: 'seum;x',
      preview: 'end\n%%{init}%% <b>안녕</b>',
    };
    const text = mermaid({
      id: 'c', kind: 'conversation', now, durationMs: 0, flows: 0, runs: 0, conversations: 1, messages: 1, open: 0, late: 0, cut: true,
      roots: [{ kind: 'conversation', id: 'c', seq: 1, at: start, durationMs: 0, from: 'eden', to: 'seum', messages: [message] }],
    }); // prettier-ignore
    expect(text.split('\n')).toEqual([
      'sequenceDiagram',
      '  participant p0 as eden',
      '  participant p1 as seum#59;x',
      '  p0->>p1: #101;nd #37;#37;#123;init#125;#37;#37; #60;b#62;안녕#60;/b#62;',
      '  Note over p0: there is more',
      '',
    ]);
  });
});
