import { untrack } from 'svelte';
import { ApiError, Building, read, type Answer } from '$lib/api/client';
import type { Event } from '$lib/live/client';
import { live } from '$lib/live/live.svelte';
import { paced } from '$lib/paced';
import { query, type Query } from '$lib/query.svelte';
import { router } from '$lib/router.svelte';
import { apiQuery, passes, type Filter } from './filter';
import { rowOf, type Row } from './row';
import { Tail } from './tail';

/** Rows that are kept while the view follows the end of the log, and those that are kept when one reads back. */
export const followed = 10_000;
const most = 100_000;

const firstPage = 200;
const furtherPage = 500;
/** Events that are read again after a pause at most; beyond that the view begins at the end. */
const mostReadAgain = 10_000;

/**
 * The matching events as rows without gaps: from the oldest that was read to the newest, or to where the reader has jumped. While the view
 * holds, what comes waits in the tail.
 */
export class LogRows {
  rows: Row[] = $state.raw([]);
  /** There are older matching events than the first row. */
  older = $state(false);
  /** There are newer events than the last row that have not been read: one has jumped back. */
  newer = $state(false);
  loading = $state(false);
  error: ApiError | null = $state.raw(null);
  /** Events that wait until the view goes on. */
  waiting = $state(0);
  /** The seq around which the list was opened; null is the end of the log. */
  anchor: number | null = $state(null);
  /** Changes when the rows are others than before. */
  round = $state(0);
  /** Number of the first row; a row keeps its number while others come before and after it. */
  start = $state(0);
  /** Matching events in the last second. */
  rate = $state(0);

  readonly first: Query<'/api/events'>;
  #filter: () => Filter;
  #tail = new Tail<Row>();
  /** All matching events after the first row and up to this seq are rows. */
  #covered = 0;
  #holds = false;
  #counted = 0;

  constructor(filter: () => Filter, anchor: number | null) {
    this.#filter = filter;
    this.anchor = anchor;
    this.first = query('/api/events', () => ({
      query: {
        ...apiQuery(filter()),
        limit: firstPage,
        before: this.anchor === null ? undefined : this.anchor + firstPage / 2,
      },
    }));
  }

  /** Shows an answer instead of what was there. */
  take(answer: Answer<'/api/events'>): void {
    this.rows = answer.events.map(rowOf);
    this.older = answer.nextCursor !== null;
    const last = this.anchor === null ? Infinity : this.anchor + firstPage / 2 - 1;
    this.#covered = Math.min(last, answer.asOfSeq);
    this.newer = this.#covered < answer.asOfSeq;
    this.error = null;
    this.loading = false;
    this.round++;
    this.#flush();
  }

  /** Takes note of events that the connection delivers. */
  add(events: Event[]): void {
    const filter = this.#filter();
    const rows = events.filter((event) => passes(event, filter)).map(rowOf);
    this.#counted += rows.length;
    if (rows.length === 0) return;
    this.#tail.push(rows);
    this.#draw();
  }

  #draw = paced(() => this.#flush());

  /** Events up to seq may not have been delivered. */
  lose(seq: number): void {
    this.#tail.lose(seq);
    this.#flush();
  }

  forget(): void {
    this.#tail.clear();
    this.#tail.lose(live.applied);
  }

  count(): void {
    this.rate = this.#counted;
    this.#counted = 0;
  }

  /** While the view holds, rows are not added at the end. */
  hold(holds: boolean): void {
    if (this.#holds === holds) return;
    this.#holds = holds;
    this.#flush();
  }

  #flush(): void {
    if (this.#holds || this.newer || this.loading || this.first.data === undefined) {
      this.waiting = this.#tail.length;
      return;
    }
    if (this.#tail.lacks(this.#covered)) {
      if (this.#tail.lostUpTo - this.#covered > mostReadAgain) this.end();
      else void this.loadNewer();
      return;
    }
    this.waiting = 0;
    const rows = this.#tail.take(this.#covered);
    if (rows.length === 0) return;
    this.#covered = rows.at(-1)!.seq;
    const all = this.rows.concat(rows);
    const over = Math.max(0, all.length - followed);
    if (over > 0) this.older = true;
    this.start += over;
    this.rows = over > 0 ? all.slice(over) : all;
  }

  /** Shows the end of the log. */
  end(): void {
    this.#tail.clear();
    this.#tail.lose(live.applied);
    if (this.anchor === null) this.first.refresh();
    this.anchor = null;
  }

  /** Shows the events around a seq. */
  open(seq: number): void {
    if (this.holdsRow(seq)) return;
    this.anchor = seq;
  }

  /** Whether a seq is within the rows. */
  holdsRow(seq: number): boolean {
    return this.rows.length > 0 && this.rows[0]!.seq <= seq && seq <= Math.max(this.#covered, this.rows.at(-1)!.seq);
  }

  async loadOlder(): Promise<void> {
    if (!this.older) return;
    await this.#load({ before: this.rows[0]?.seq ?? this.#covered + 1 }, (answer) => {
      const rows = answer.events.map(rowOf).concat(this.rows);
      this.older = answer.nextCursor !== null;
      if (rows.length > most) {
        rows.length = most;
        this.newer = true;
        this.#covered = rows.at(-1)!.seq;
      }
      this.start -= answer.events.length;
      this.rows = rows;
    });
  }

  async loadNewer(): Promise<void> {
    await this.#load({ after: this.#covered }, (answer) => {
      this.rows = this.rows.concat(answer.events.map(rowOf));
      this.#covered = answer.nextAfter;
      this.newer = answer.count === furtherPage && answer.nextAfter < answer.asOfSeq;
    });
    if (!this.error) this.#flush();
  }

  async #load(
    place: { before?: number; after?: number },
    show: (answer: Answer<'/api/events'>) => void,
  ): Promise<void> {
    if (this.loading) return;
    const round = this.round;
    this.loading = true;
    this.error = null;
    try {
      const result = await read('/api/events', {
        query: { ...apiQuery(this.#filter()), limit: furtherPage, ...place },
        asOf: router.asOf,
      });
      if (round === this.round && !(result instanceof Building)) show(result.data);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (round === this.round) this.error = error;
    } finally {
      if (round === this.round) this.loading = false;
    }
  }
}

/** The rows for the component that calls it. */
export function logRows(filter: () => Filter, anchor: number | null): LogRows {
  const list = new LogRows(filter, anchor);
  const key = $derived(JSON.stringify([filter(), router.asOf]));
  let shown = '';
  $effect.pre(() => {
    const open = key;
    const answer = list.first.data;
    untrack(() => {
      if (open !== shown) list.forget();
      shown = open;
      if (answer) list.take(answer);
    });
  });
  $effect(() => {
    if (router.asOf !== null) return;
    const leave = [
      // A frame does not say what was guessed about its events, so those with a doubt are read.
      live.onEvents((events) => (filter().doubt ? list.lose(events.at(-1)!.seq) : list.add(events))),
      live.onStale((keys, seq) => {
        if (keys === 'all') list.lose(seq);
      }),
    ];
    const timer = setInterval(() => list.count(), 1000);
    untrack(() => list.lose(live.applied));
    return () => {
      leave.forEach((end) => end());
      clearInterval(timer);
    };
  });
  return list;
}
