import type { Layout } from './layout';

/** Where a key leads from a span: to its cause, to its first effect, or to the nearest span of the lane above or below. */
export type Step = 'cause' | 'effect' | 'up' | 'down' | 'first' | 'last';

/** The span that a step leads to; the same one if there is none. Without a span any step leads to the first one. */
export function walk(layout: Layout, from: number | null, step: Step): number | null {
  if (layout.spans.length === 0) return null;
  const inTime = () => layout.spans.reduce((best, span) => (span.from < best.from ? span : best));
  const span = from === null ? undefined : layout.spans[from];
  if (!span || step === 'first') return inTime().index;
  switch (step) {
    case 'cause':
      return span.parent < 0 ? span.index : span.parent;
    case 'effect':
      return span.children[0] ?? span.index;
    case 'last':
      return layout.spans.reduce((best, other) => (other.to > best.to ? other : best)).index;
    default: {
      const by = step === 'up' ? -1 : 1;
      for (let lane = span.lane + by; lane >= 0 && lane < layout.lanes.length; lane += by) {
        const all = layout.lanes[lane]!.rows.flat();
        if (all.length > 0) return nearest(layout, all, span.from);
      }
      return span.index;
    }
  }
}

function nearest(layout: Layout, all: readonly number[], time: number): number {
  const distance = (index: number) => {
    const { from, to } = layout.spans[index]!;
    return Math.max(0, from - time, time - to);
  };
  return all.reduce((best, index) => (distance(index) < distance(best) ? index : best));
}
