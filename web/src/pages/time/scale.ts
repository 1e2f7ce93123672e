import type { Schemas } from '$lib/api/client';

/** A run of events of the log, with the times of the first and the last. */
export type Bucket = Pick<Schemas['Histogram']['buckets'][number], 'seq0' | 'seq1' | 't0' | 't1' | 'n' | 'problems'>;

/** A part of the picture: where it lies from 0 to 1, how high it is from 0 to 1, and how many failures it has. */
export interface Column {
  from: number;
  to: number;
  height: number;
  events: number;
  problems: number;
}

/**
 * The buckets with times that never go back, as near to theirs as possible: events that were imported may be older than those before them. A
 * few that are out of order do not move the others.
 */
export function ordered(buckets: readonly Bucket[]): Bucket[] {
  // Neighbours that go back are pooled, and a pool has the time in its middle.
  const pools: { times: number[]; middle: number }[] = [];
  for (const time of buckets.flatMap(({ t0, t1 }) => [t0, t1])) {
    let pool = { times: [time], middle: time };
    for (let before = pools.at(-1); before && before.middle > pool.middle; before = pools.at(-1)) {
      pools.pop();
      const times = [...before.times, ...pool.times].sort((a, b) => a - b);
      pool = { times, middle: times[Math.floor((times.length - 1) / 2)]! };
    }
    pools.push(pool);
  }
  const times = pools.flatMap(({ times, middle }) => times.map(() => middle));
  return buckets.map((bucket, index) => ({ ...bucket, t0: times[2 * index]!, t1: times[2 * index + 1]! }));
}

/** About the time of an event; null in an empty log. The buckets are ordered. */
export function timeAt(buckets: readonly Bucket[], seq: number): number | null {
  const bucket = buckets.find(({ seq1 }) => seq <= seq1) ?? buckets.at(-1);
  if (!bucket) return null;
  if (seq <= bucket.seq0) return bucket.t0;
  if (seq >= bucket.seq1) return bucket.t1;
  return bucket.t0 + ((seq - bucket.seq0) / (bucket.seq1 - bucket.seq0)) * (bucket.t1 - bucket.t0);
}

/** About the last event up to a time: that before the first bucket if there is none. The buckets are ordered. */
export function seqAt(buckets: readonly Bucket[], ms: number): number {
  let seq = (buckets[0]?.seq0 ?? 1) - 1;
  for (const bucket of buckets) {
    if (ms < bucket.t0) break;
    if (ms >= bucket.t1) {
      seq = bucket.seq1;
      continue;
    }
    return bucket.seq0 + Math.floor(((ms - bucket.t0) / (bucket.t1 - bucket.t0)) * (bucket.seq1 - bucket.seq0));
  }
  return seq;
}

/** Columns of equally many events, as high as events came close together. */
export function columnsBySeq(buckets: readonly Bucket[]): Column[] {
  const first = buckets[0]?.seq0 ?? 1;
  const length = Math.max(1, (buckets.at(-1)?.seq1 ?? first) - first + 1);
  return scaled(
    buckets.map(({ seq0, seq1, t0, t1, n, problems }) => ({
      from: (seq0 - first) / length,
      to: (seq1 + 1 - first) / length,
      height: n / Math.max(1000, t1 - t0),
      events: n,
      problems,
    })),
  );
}

/** So many columns of equal time, as high as they have events. */
export function columnsByTime(buckets: readonly Bucket[], count: number): Column[] {
  const [start, end] = [buckets[0]?.t0 ?? 0, buckets.at(-1)?.t1 ?? 0];
  const width = Math.max(1, end - start) / count;
  const columns = Array.from({ length: count }, (_, index) => ({
    from: index / count,
    to: (index + 1) / count,
    height: 0,
    events: 0,
    problems: 0,
  }));
  for (const bucket of buckets) {
    const low = Math.min(count - 1, Math.floor((bucket.t0 - start) / width));
    const high = Math.min(count - 1, Math.floor((bucket.t1 - start) / width));
    for (let index = low; index <= high; index++) columns[index]!.height += bucket.n / (high - low + 1);
    // A failure stands where its bucket ends: it is not counted twice.
    columns[high]!.problems += bucket.problems;
  }
  for (const column of columns) column.events = Math.round(column.height);
  return scaled(columns);
}

/** Heights from 0 to 1; roots, so that a quiet hour beside a busy one is not nothing. */
function scaled(columns: Column[]): Column[] {
  const most = Math.max(...columns.map(({ height }) => height), Number.MIN_VALUE);
  return columns.map((column) => ({ ...column, height: Math.sqrt(column.height / most) }));
}

/** Lengths of the part of the log that is shown, in ms; `all` is the whole log. */
export const spans = { all: Infinity, day: 86_400_000, hour: 3_600_000, minutes: 600_000 } as const;
export type Span = keyof typeof spans;

/** First and last event of a part of the log around an event. */
export function around(buckets: readonly Bucket[], seq: number, span: Span): [first: number, last: number] {
  const [first, last] = [buckets[0]?.seq0 ?? 1, buckets.at(-1)?.seq1 ?? 1];
  const at = timeAt(buckets, seq);
  if (span === 'all' || at === null) return [first, last];
  const half = spans[span] / 2;
  const low = Math.max(first, Math.min(seqAt(buckets, at - half) + 1, seq));
  return [low, Math.min(last, Math.max(seqAt(buckets, at + half), seq, low + 1))];
}
