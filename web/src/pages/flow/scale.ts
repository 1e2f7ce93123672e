import type { Gap } from './layout';

/** Width of a folded idle time. */
export const foldPx = 56;

/** Free room before the first and after the last time, for the shapes of a moment. */
export const edgePx = 12;

/** Maps time to pixels: evenly, but folded idle times have one width, whatever their length. */
export class Scale {
  readonly width: number;
  #starts: number[] = [];
  #lengths: number[] = [];
  #xs: number[] = [];
  #folded: boolean[] = [];

  constructor(
    readonly from: number,
    readonly to: number,
    readonly gaps: readonly Gap[],
    readonly pxPerMs: number,
  ) {
    let [time, x] = [from, edgePx];
    const add = (until: number, folded: boolean) => {
      const length = Math.max(0, until - time);
      this.#starts.push(time);
      this.#lengths.push(length);
      this.#xs.push(x);
      this.#folded.push(folded);
      x += folded ? foldPx : length * pxPerMs;
      time = Math.max(time, until);
    };
    for (const gap of gaps) {
      add(gap.from, false);
      add(gap.to, true);
    }
    add(to, false);
    this.width = x + edgePx;
  }

  /** The scale on which everything just fits. */
  static fitting(from: number, to: number, gaps: readonly Gap[], width: number): Scale {
    const shown = to - from - gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
    return new Scale(from, to, gaps, Math.max(1, width - gaps.length * foldPx - 2 * edgePx) / Math.max(1, shown));
  }

  x(time: number): number {
    const at = last(this.#starts, time);
    const past = Math.min(Math.max(0, time - this.#starts[at]!), this.#lengths[at]!);
    return this.#xs[at]! + (this.#folded[at] ? (past / Math.max(1, this.#lengths[at]!)) * foldPx : past * this.pxPerMs);
  }

  time(x: number): number {
    const at = last(this.#xs, x);
    const past = Math.max(0, x - this.#xs[at]!);
    const ms = this.#folded[at] ? (past / foldPx) * this.#lengths[at]! : past / this.pxPerMs;
    return this.#starts[at]! + Math.min(ms, this.#lengths[at]!);
  }

  /** Times of a ruler between two pixels, at least `apart` pixels from each other, none within a fold. */
  ticks(fromX: number, toX: number, apart: number): number[] {
    const step = steps.find((ms) => ms * this.pxPerMs >= apart) ?? steps.at(-1)!;
    const list: number[] = [];
    this.#starts.forEach((start, at) => {
      if (this.#folded[at]) return;
      const from = Math.max(start, this.time(Math.max(fromX, this.#xs[at]!)));
      const end = Math.min(start + this.#lengths[at]!, this.time(toX));
      for (let time = Math.ceil(from / step) * step; time <= end && list.length < 200; time += step) {
        const x = this.x(time);
        const before = list.at(-1);
        if (before === undefined || x - this.x(before) >= apart) list.push(time);
      }
    });
    return list;
  }
}

const [second, minute, hour] = [1000, 60_000, 3_600_000];
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 30].map((n) => n * minute),
  ...[1, 2, 6, 12, 24, 48, 168].map((n) => n * hour),
];

/** Index of the last value that is at most `value`; 0 if none is. */
function last(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle]! <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
