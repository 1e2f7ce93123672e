import type { Layout } from './layout';
import { paint, sizes, rowMiddle, tops, type Painting } from './paint';
import type { Scale } from './scale';
import { shortened } from './shortened';

/** The whole flow as shapes with colours, for files that have no style sheet. */
export interface Picture {
  width: number;
  height: number;
  background: string;
  shapes: { path: string; fill: string; stroke: string; width: number; dash: number[] }[];
  texts: { x: number; y: number; text: string; fill: string }[];
}

const names = 150;

/** Larger pictures are not made by browsers; a longer flow is drawn narrower. */
export const mostPixels = 12_000;

/** Draws all of a layout. `colour` reads a token of the style sheet. */
export function pictureOf(
  layout: Layout,
  scale: Scale,
  title: string,
  nameOf: (lane: Layout['lanes'][number]) => string,
  timeOf: (ms: number) => string,
  colour: (token: string) => string,
): Picture {
  const lane = tops(layout);
  const high = lane.at(-1)!;
  const painting = paint(layout, scale, lane, { x: 0, y: 0, width: scale.width + 20, height: high });
  const [left, top] = [names, 2 * sizes.ruler];
  const texts = [{ x: 12, y: 16, text: title, fill: colour('--ink') }];
  layout.lanes.forEach((item, index) =>
    texts.push({
      x: 12 + 10 * item.depth,
      y: top + rowMiddle(lane[index]!, 0) + 4,
      text: shortened(nameOf(item), names - 20 - 10 * item.depth),
      fill: colour('--ink'),
    }),
  );
  for (const time of scale.ticks(0, scale.width, 110))
    texts.push({ x: left + scale.x(time), y: top - 6, text: timeOf(time), fill: colour('--muted') });
  const lines = lane.map((y) => `M0 ${y}h${scale.width + 20}`).join('');
  return {
    width: Math.ceil(left + scale.width + 20),
    height: Math.ceil(top + high + 8),
    background: colour('--surface'),
    shapes: [
      { path: lines, fill: 'none', stroke: colour('--line'), width: 1, dash: [] },
      ...styled(painting, colour),
    ].map((shape) => ({
      ...shape,
      path: moved(shape.path, left, top),
    })),
    texts,
  };
}

function styled({ bars, links, marks }: Painting, colour: (token: string) => string): Picture['shapes'] {
  const line = (path: string, token: string, width: number, dash: number[] = [], fill = 'none') => ({
    path,
    fill: fill === 'none' ? fill : colour(fill),
    stroke: colour(token),
    width,
    dash,
  });
  const area = (path: string, token: string) => ({ path, fill: colour(token), stroke: 'none', width: 0, dash: [] });
  return [
    line(bars.wait, '--control-line', 1),
    line(bars.permit, '--waiting', 3, [2, 4]),
    line(bars.backoff, '--waiting', 2, [8, 3]),
    line(bars.queue, '--waiting', 1.5, [], '--waiting-soft'),
    area(bars.run, '--active'),
    area(bars.failed, '--blocked'),
    line(links.send.line, '--muted', 1.5),
    area(links.send.head, '--muted'),
    line(links.reply.line, '--muted', 1.5, [4, 3]),
    area(links.reply.head, '--muted'),
    line(links.spawn.line, '--accent', 1.5),
    area(links.spawn.head, '--accent'),
    area(marks.message, '--muted'),
    area(marks.start, '--ink'),
    line(marks.block, '--blocked', 3),
    line(marks.late, '--waiting', 2, [3, 2], '--surface'),
  ].filter(({ path }) => path !== '');
}

/** A path at another place. Only its absolute commands have a place: M, H and V. */
const moved = (path: string, x: number, y: number): string =>
  path.replace(/([MHV])(-?[\d.]+)(?: (-?[\d.]+))?/g, (_, command: string, first: string, second?: string) =>
    command === 'M'
      ? `M${Number(first) + x} ${Number(second) + y}`
      : `${command}${Number(first) + (command === 'H' ? x : y)}`,
  );

const escaped = (text: string): string =>
  text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\uFFFD')
    .replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]!);

const font = '12px system-ui, "Noto Sans CJK KR", sans-serif';

export function toSvg({ width, height, background, shapes, texts }: Picture): string {
  const drawn = shapes.map(
    ({ path, fill, stroke, width, dash }) =>
      `<path d="${path}" fill="${fill}" stroke="${stroke}" stroke-width="${width}"${dash.length > 0 ? ` stroke-dasharray="${dash.join(' ')}"` : ''}/>`,
  );
  const said = texts.map(({ x, y, text, fill }) => `<text x="${x}" y="${y}" fill="${fill}">${escaped(text)}</text>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="${background}"/>`,
    ...drawn,
    ...said,
    '</svg>',
    '',
  ].join('\n');
}

/** Rejects if the browser cannot make a picture of that size. */
export async function toPng({ width, height, background, shapes, texts }: Picture): Promise<Blob> {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  if (!context) throw new Error('no canvas');
  context.fillStyle = background;
  context.fillRect(0, 0, width, height);
  for (const { path, fill, stroke, width, dash } of shapes) {
    const shape = new Path2D(path);
    if (fill !== 'none') {
      context.fillStyle = fill;
      context.fill(shape);
    }
    if (stroke !== 'none') {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.stroke(shape);
    }
  }
  context.font = font;
  for (const { x, y, text, fill } of texts) {
    context.fillStyle = fill;
    context.fillText(text, x, y);
  }
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('no picture'))), 'image/png'),
  );
}
