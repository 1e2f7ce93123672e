import { untrack } from 'svelte';
import { ApiError, readBuilt, type Answer, type QueryOf } from '$lib/api/client';
import { live } from '$lib/live/live.svelte';
import { query, type Query } from '$lib/query.svelte';
import { router } from '$lib/router.svelte';
import { entriesOf, entryOf, threadOf, type Entry, type Event } from './model';

const path = '/api/work-sessions/{id}';

/** Which events of a work session are read. */
export type Filter = Pick<Partial<QueryOf<typeof path>>, 'thread' | 'role'>;
type Position = Pick<Partial<QueryOf<typeof path>>, 'before' | 'after' | 'limit'>;

/** Events of a page. A conversation that is not longer is there as a whole. */
const pageSize = 500;
/** Events that are kept while the end is followed; half of them stay. */
export const most = 3000;
/** Events of a page while all are read one after the other. */
export const largePage = 1000;

/**
 * Events of a work session without gaps: first the newest page, or one around an event, and then more at each end as the reader comes there.
 * The newest page stays fresh; while it belongs to the events, new ones are added as they come.
 */
export class Pages {
  /** By time. */
  entries: Entry[] = $state.raw([]);
  /** Where the next pages begin; null at the first and at the last event. */
  older: number | null = $state(null);
  newer: number | null = $state(null);
  /** Whether the first page is there. */
  ready = $state(false);
  loading = $state(false);
  error: ApiError | null = $state.raw(null);
  /** Changes when other events take the place of all that were there. */
  round = $state(0);

  #newest: Query<typeof path>;
  #filter: () => Filter;
  #ws: () => string | undefined;
  #anchor: () => number | null;
  #key = '';
  /** Seq up to which the server's pages reach; events that came live are above it. */
  #reach = 0;
  /** What is being read and sought, if nothing else has taken its place. A key would not do: who comes back begins again. */
  #turn: symbol | null = null;
  #seeking: symbol | null = null;
  /** Events that came since the last frame of the screen. */
  #fresh: Event[] = [];
  #adding = false;
  /** Whether the end is followed and no event in particular is looked at: then the first events may go when there are many. */
  following = false;

  constructor(ws: () => string | undefined, filter: () => Filter, anchor: () => number | null) {
    [this.#ws, this.#filter, this.#anchor] = [ws, filter, anchor];
    this.#newest = query(
      path,
      () => {
        const id = ws();
        return id ? { path: { id }, query: { ...filter(), limit: pageSize } } : null;
      },
      { keys: () => (ws() ? [`session:${ws()!}`] : []), slowestMs: 4000 },
    );
  }

  /** The newest page, for its error and progress. */
  get newest(): Query<typeof path> {
    return this.#newest;
  }

  /** Takes the newest page of what a key names; another key begins with it, or with a page around the anchor. */
  take(key: string): void {
    const data = this.#newest.data;
    if (key !== this.#key) {
      this.#key = key;
      this.#seeking = null;
      this.#fresh = [];
      this.error = null;
      this.#replace([], null, null, false);
    }
    if (!data || this.#seeking) return;
    if (this.ready) return this.#join(data);
    const page = entriesOf(data.session.threads);
    const at = this.#anchor();
    const older = data.nextBefore ?? null;
    if (at !== null && older !== null && at < older) void this.seek(at);
    else this.#replace(page, older, null);
  }

  #replace(page: Entry[], older: number | null, newer: number | null, ready = true): void {
    this.#turn = null;
    this.loading = false;
    this.entries = page;
    this.older = older;
    this.newer = newer;
    this.ready = ready;
    this.#reach = highest(page);
    this.round++;
  }

  #merge(page: Entry[]): void {
    const bySeq = new Map(this.entries.map((entry) => [entry.seq, entry]));
    for (const entry of page) bySeq.set(entry.seq, entry);
    this.entries = [...bySeq.values()].sort((a, b) => a.time - b.time || a.seq - b.seq);
  }

  /** Adds the newest page. If events between it and what is there are missing, they come when the reader goes on. */
  #join(data: Answer<typeof path>): void {
    if (this.newer !== null) return;
    const page = entriesOf(data.session.threads);
    if (data.nextBefore == null || page.some(({ seq }) => seq <= this.#reach)) {
      this.#reach = Math.max(this.#reach, highest(page));
      this.#merge(page);
    } else {
      this.entries = this.entries.filter(({ seq }) => seq <= this.#reach);
      this.newer = this.#reach;
    }
  }

  /** Adds events as they come, with the next frame of the screen. */
  add(events: Event[]): void {
    this.#fresh.push(...events);
    if (this.#adding) return;
    this.#adding = true;
    const go = () => {
      this.#adding = false;
      this.#addNow();
    };
    if (document.hidden) setTimeout(go, 1000);
    else requestAnimationFrame(go);
  }

  #addNow(): void {
    if (this.following && this.entries.length > most) {
      // Rows that go and rows that come are two changes for the list that shows them.
      this.#trim();
      return this.add([]);
    }
    const events = this.#fresh.splice(0);
    if (!this.ready || this.newer !== null) return;
    const known = new Set(this.entries.map(({ seq }) => seq));
    const fresh = events.filter(({ seq }) => !known.has(seq)).map((event) => entryOf(event, threadOf(event)));
    if (fresh.length > 0) this.#merge(fresh);
  }

  /** Leaves the last events only; those before them are a page again. */
  #trim(): void {
    const seqs = this.entries.map(({ seq }) => seq).sort((a, b) => a - b);
    const first = seqs[seqs.length - most / 2]!;
    this.entries = this.entries.filter(({ seq }) => seq >= first);
    this.older = first;
  }

  async #read(position: Position): Promise<Answer<typeof path>> {
    const parameters = { path: { id: this.#ws()! }, query: { ...this.#filter(), ...position }, asOf: router.asOf };
    return (await readBuilt(path, parameters)).data;
  }

  /** Reads and takes what came, unless something else is shown by then. */
  async #load(take: () => Promise<() => void>): Promise<void> {
    if (this.loading) return;
    const turn = (this.#turn = Symbol());
    this.loading = true;
    this.error = null;
    try {
      const done = await take();
      if (turn === this.#turn) done();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (turn === this.#turn) this.error = error;
    } finally {
      if (turn === this.#turn) this.loading = false;
    }
  }

  loadOlder(limit = pageSize): Promise<void> {
    const before = this.older;
    if (before === null) return Promise.resolve();
    return this.#load(async () => {
      const data = await this.#read({ before, limit });
      return () => ((this.older = data.nextBefore ?? null), this.#merge(entriesOf(data.session.threads)));
    });
  }

  loadNewer(limit = pageSize): Promise<void> {
    const after = this.newer;
    if (after === null) return Promise.resolve();
    return this.#load(async () => {
      const data = await this.#read({ after, limit });
      return () => {
        const page = entriesOf(data.session.threads);
        this.#merge(page);
        this.#reach = Math.max(this.#reach, highest(page));
        this.newer = data.nextAfter ?? null;
        if (this.#newest.data) this.#join(this.#newest.data);
      };
    });
  }

  /** Shows a page around an event instead, and the newest one if that cannot be read. */
  async seek(seq: number): Promise<void> {
    const limit = pageSize / 2;
    const seeking = (this.#seeking = Symbol());
    await this.#load(async () => {
      const [back, on] = await Promise.all([this.#read({ before: seq + 1, limit }), this.#read({ after: seq, limit })]);
      return () => {
        const page = [...entriesOf(back.session.threads), ...entriesOf(on.session.threads)];
        page.sort((a, b) => a.time - b.time || a.seq - b.seq);
        this.#replace(page, back.nextBefore ?? null, on.nextAfter ?? null);
      };
    });
    if (seeking !== this.#seeking) return;
    this.#seeking = null;
    if (!this.ready) this.toEnd();
    else if (this.#newest.data) this.#join(this.#newest.data);
  }

  /** Shows the newest page. */
  toEnd(): void {
    const data = this.#newest.data;
    if (data) this.#replace(entriesOf(data.session.threads), data.nextBefore ?? null, null);
  }

  /** Whether an event of the work session is there, of whatever kind. */
  async exists(seq: number): Promise<boolean> {
    const { data } = await readBuilt(path, {
      path: { id: this.#ws()! },
      query: { before: seq + 1, limit: 1 },
      asOf: router.asOf,
    });
    return data.session.threads.some(({ events }) => events?.[0]?.seq === seq);
  }
}

const highest = (page: Entry[]): number => page.reduce((most, { seq }) => Math.max(most, seq), 0);

/**
 * The events of a work session for the component that calls it. `name` is what is open; `anchor` says at the beginning which event has to be
 * among them.
 */
export function pagesOf(
  ws: () => string | undefined,
  name: () => string,
  filter: () => Filter,
  anchor: () => number | null,
): Pages {
  const pages = new Pages(ws, filter, anchor);
  const key = $derived(ws() ? JSON.stringify([name(), filter(), router.asOf]) : '');
  $effect.pre(() => {
    void pages.newest.data;
    const open = key;
    untrack(() => pages.take(open));
  });
  $effect(() => {
    const id = ws();
    if (!id || router.asOf !== null) return;
    return live.onEvents((events) => {
      const own = events.filter((event) => {
        const session = (event.data as Record<string, unknown> | undefined)?.workSessionId;
        return session === id || session === `ws:${id}`;
      });
      if (own.length > 0) pages.add(own);
    });
  });
  return pages;
}
