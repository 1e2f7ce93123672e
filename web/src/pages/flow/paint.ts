import type { Layout, Link, Mark, Part } from './layout';
import type { Scale } from './scale';

/** Sizes of the drawing, in pixels. */
export const sizes = { row: 22, bar: 12, pad: 10, ruler: 24, least: 3, head: 5 } as const;

/** The part of the drawing that is in view, in pixels of the whole. */
export interface View {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Tops of the lanes; the last is the height of all. */
export function tops(layout: Pick<Layout, 'lanes'>): number[] {
  const list = [0];
  for (const { rows } of layout.lanes) list.push(list.at(-1)! + rows.length * sizes.row + 2 * sizes.pad);
  return list;
}

export const rowMiddle = (top: number, row: number): number => top + sizes.pad + (row + 0.5) * sizes.row;

/** Everything in view, as few elements: all shapes of a kind are one path, so the number of elements does not grow with the trace. */
export interface Painting {
  bars: Record<Part['kind'] | 'failed', string>;
  links: Record<Link['kind'], { line: string; head: string }>;
  marks: Record<Mark['kind'], string>;
  /** Runs whose bar is wide enough for a text, with what is visible of it. */
  texts: { span: number; x: number; y: number; width: number }[];
}

const mostTexts = 400;

/** Draws what is in view, relative to the view's corner. */
export function paint(layout: Layout, scale: Scale, lane: readonly number[], view: View): Painting {
  const bars = { permit: '', backoff: '', queue: '', run: '', wait: '', failed: '' };
  const texts: Painting['texts'] = [];
  const [fromTime, toTime] = [scale.time(view.x), scale.time(view.x + view.width)];
  const least = sizes.least / scale.pxPerMs;
  const [x, y] = [(time: number) => round(scale.x(time) - view.x), (value: number) => round(value - view.y)];
  const inside = (value: number) => Math.min(view.width + 10, Math.max(-10, value));

  layout.lanes.forEach(({ rows }, at) => {
    if (lane[at + 1]! < view.y || lane[at]! > view.y + view.height) return;
    rows.forEach((row, number) => {
      const middle = y(rowMiddle(lane[at]!, number));
      if (middle < -sizes.row || middle > view.height + sizes.row) return;
      for (let i = firstAfter(layout, row, fromTime - least); i < row.length; i++) {
        const span = layout.spans[row[i]!]!;
        if (span.from > toTime) break;
        for (const { kind, from, to } of span.parts) {
          const [start, stop] = [inside(x(from)), inside(x(to))];
          const width = round(Math.max(kind === 'run' ? sizes.least : 0, stop - start));
          if (start > view.width || start + width < 0 || width === 0) continue;
          bars[kind === 'run' && span.failed ? 'failed' : kind] += shape(kind, start, middle, width);
        }
        const runs = span.parts.filter(({ kind }) => kind === 'run');
        if (span.node.kind !== 'run' || runs.length === 0) continue;
        // Not over the bar of the queue, on which it could not be read.
        const [start, stop] = [Math.max(0, x(runs[0]!.from)), Math.min(view.width, x(runs.at(-1)!.to))];
        if (stop - start > 48 && texts.length < mostTexts)
          texts.push({ span: span.index, x: start, y: middle, width: stop - start });
      }
    });
  });

  const links = { send: { line: '', head: '' }, reply: { line: '', head: '' }, spawn: { line: '', head: '' } };
  for (const { kind, from, to } of layout.links) {
    const [x1, x2] = [x(from.at), x(to.at)];
    if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > view.width) continue;
    const [y1, y2] = [y(rowMiddle(lane[from.lane]!, from.row)), y(rowMiddle(lane[to.lane]!, to.row))];
    if (Math.max(y1, y2) < 0 || Math.min(y1, y2) > view.height) continue;
    const down = y2 > y1 ? 1 : -1;
    const [left, right] = [inside(x1), inside(x2)];
    const tip = y2 - down * (sizes.bar / 2);
    links[kind].line +=
      kind === 'spawn' ? `M${left} ${y1}V${y2}H${right}` : `M${left} ${y1}V${round((y1 + tip) / 2)}H${right}V${tip}`;
    links[kind].head +=
      kind === 'spawn'
        ? `M${right} ${y2}l${-sizes.head} ${-sizes.head}v${2 * sizes.head}z`
        : `M${right} ${tip}l${-sizes.head} ${-down * 1.4 * sizes.head}h${2 * sizes.head}z`;
  }

  const marks = { start: '', message: '', block: '', late: '' };
  for (const { kind, at, lane: of, row } of layout.marks) {
    const [left, middle] = [x(at), y(rowMiddle(lane[of]!, row))];
    if (left < -8 || left > view.width + 8 || middle < -8 || middle > view.height + 8) continue;
    marks[kind] += markShape[kind](left, middle);
  }
  return { bars, links, marks, texts };
}

/** Each part has a height and an outline of its own, so that it is told apart without colour. */
function shape(kind: Part['kind'], x: number, middle: number, width: number): string {
  switch (kind) {
    case 'run':
      return `M${x} ${middle - sizes.bar / 2}h${width}v${sizes.bar}h${-width}z`;
    case 'queue':
      return `M${x} ${middle - sizes.bar / 4}h${width}v${sizes.bar / 2}h${-width}z`;
    case 'wait':
      return `M${x} ${middle - 2}h${width}M${x} ${middle + 2}h${width}`;
    default:
      return `M${x} ${middle}h${width}`;
  }
}

const circle = (x: number, y: number, r: number): string =>
  `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;

const markShape: Record<Mark['kind'], (x: number, y: number) => string> = {
  start: (x, y) => circle(x - 6, y, 4.5), // before the bar, so that both are seen
  message: (x, y) => `M${x} ${y - 4}l4 4l-4 4l-4-4z`,
  block: (x, y) => `M${x - 5} ${y - 5}l10 10m0-10l-10 10`,
  late: (x, y) => circle(x, y, 5),
};

const round = (value: number): number => Math.round(value * 10) / 10;

/** Index in a row of the first span that ends after a time. */
function firstAfter(layout: Layout, row: readonly number[], time: number): number {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (layout.spans[row[middle]!]!.to < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The span at a point of the whole drawing, or null. Narrow ones are found within a few pixels. */
export function spanAt(layout: Layout, scale: Scale, lane: readonly number[], x: number, y: number): number | null {
  const at = lane.findIndex((top, index) => y >= top && y < (lane[index + 1] ?? -1));
  if (at < 0) return null;
  const { rows } = layout.lanes[at]!;
  const row = rows[Math.min(rows.length - 1, Math.max(0, Math.floor((y - lane[at]! - sizes.pad) / sizes.row)))]!;
  const near = 6;
  let best: { span: number; distance: number } | null = null;
  for (let i = firstAfter(layout, row, scale.time(x - near)); i < row.length; i++) {
    const { from, to, index } = layout.spans[row[i]!]!;
    const [start, stop] = [scale.x(from), scale.x(to)];
    if (start > x + near) break;
    const distance = Math.max(0, start - x, x - stop);
    if (distance <= near && (best === null || distance < best.distance)) best = { span: index, distance };
  }
  return best?.span ?? null;
}
