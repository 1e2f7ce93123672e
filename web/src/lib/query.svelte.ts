import { untrack } from 'svelte';
import {
  answers,
  ApiError,
  Building,
  read,
  urlOf,
  type Answer,
  type PathOf,
  type QueryOf,
  type ReadPath,
} from './api/client';
import { live } from './live/live.svelte';
import type { Key } from './live/stale';
import { router } from './router.svelte';
import { session } from './session.svelte';

/** Times between two requests of one kind while frames keep coming: the first, and the longest under lasting load. */
const shortestMs = 500;

export interface QueryOptions {
  /** What makes the answer stale, as a list or as a function where it follows parameters. */
  keys?: Key[] | (() => Key[]);
  /** Shortest time between two requests while frames keep coming: 500 ms. */
  shortestMs?: number;
  /** Longest time between requests while frames keep coming; each one doubles the wait from the shortest up to it. */
  slowestMs?: number;
  /** False for what the log does not contain: in the past nothing is asked and the error is `no_past`. */
  past?: boolean;
  /** Asks again after this time, for what no frame announces. */
  everyMs?: number;
}

type Parameters<P extends ReadPath> = (PathOf<P> extends undefined ? object : { path: PathOf<P> }) & {
  query?: Partial<QueryOf<P>>;
};

/**
 * An answer of the API that stays fresh: it follows the URL's point in time, is asked again when a frame makes one of its keys stale, and keeps
 * old data while new data comes. Made in a component by `query`, it ends with the component.
 */
export class Query<P extends ReadPath> {
  /** The last answer; old data stays while a newer answer or an error comes, unless another item is asked for. */
  data: Answer<P> | undefined = $state.raw();
  error: ApiError | null = $state.raw(null);
  building: Building | null = $state.raw(null);
  loading = $state(false);
  /** Seq that the data reflects. */
  seq = $state(0);
  /** Time after which it is asked again by itself, while the server is behind or busy. */
  retryAt: number | null = $state(null);

  #path: P;
  #options: QueryOptions;
  #url = '';
  #parameters: Parameters<P> | null = null;
  #asOf: number | null = null;
  #abort: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Time at which a stale answer is asked for again; null if that is not planned. */
  #dueAt: number | null = null;
  #wantedSeq = 0;
  #askedAt = 0;
  #shortest: number;
  #pause: number;

  constructor(path: P, options: QueryOptions) {
    this.#path = path;
    this.#options = options;
    this.#pause = this.#shortest = options.shortestMs ?? shortestMs;
  }

  /** Asks for other parameters, or for the same ones at another point in time. Null asks for nothing. */
  change(parameters: Parameters<P> | null, asOf: number | null): void {
    const past = this.#options.past === false && asOf !== null;
    const url = parameters === null || past ? '' : urlOf(this.#path, { ...parameters, asOf } as never).href;
    if (past) this.#refuse();
    if (url === this.#url) return;
    this.#url = url;
    this.#stop();
    this.#parameters = parameters;
    this.#asOf = asOf;
    this.#wantedSeq = 0;
    if (url === '') {
      this.data = undefined;
      return;
    }
    const kept = answers.get(url);
    this.data = kept?.result.data as Answer<P> | undefined;
    this.seq = kept?.result.seq ?? 0;
    this.error = null;
    void this.#ask();
  }

  #refuse(): void {
    this.#stop();
    this.data = undefined;
    this.error = new ApiError('no_past', 0, 'This is not part of the log.');
  }

  /** Asks again now. */
  refresh(): void {
    if (this.#url !== '') void this.#ask();
  }

  /** Asks again when the coalescing allows it, for an answer that reflects seq. */
  stale(seq: number): void {
    if (this.#url === '' || this.#asOf !== null || seq <= this.seq) return;
    this.#wantedSeq = Math.max(this.#wantedSeq, seq);
    if (this.loading || this.retryAt !== null) return;
    this.#later();
  }

  #later(): void {
    const now = Date.now();
    const quiet = now - this.#askedAt > 4 * this.#pause;
    if (quiet) this.#pause = this.#shortest;
    const dueAt = Math.max(quiet ? now + 60 : now, this.#askedAt + this.#pause);
    // Frames that keep coming must not put it off.
    if (this.#dueAt !== null && this.#dueAt <= dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#dueAt = null;
      this.#pause = Math.min(this.#pause * 2, Math.max(this.#shortest, this.#options.slowestMs ?? this.#shortest));
      if (document.hidden) document.addEventListener('visibilitychange', this.#shown, { once: true });
      else void this.#ask();
    }, dueAt - now);
  }

  #shown = (): void => void this.#ask();

  listen(keys: ReadonlySet<Key> | 'all', seq: number): void {
    const own = typeof this.#options.keys === 'function' ? this.#options.keys() : this.#options.keys;
    if (own && (keys === 'all' || own.some((key) => keys.has(key)))) this.stale(seq);
  }

  async #ask(): Promise<void> {
    this.#abort?.abort();
    this.#cancel();
    const abort = (this.#abort = new AbortController());
    const url = this.#url;
    this.loading = true;
    this.retryAt = null;
    this.#askedAt = Date.now();
    try {
      const result = await read(this.#path, {
        ...(this.#parameters as object),
        asOf: this.#asOf,
        minSeq: this.#wantedSeq > this.seq ? this.#wantedSeq : undefined,
        signal: abort.signal,
      });
      if (abort.signal.aborted) return;
      if (result instanceof Building) {
        this.building = result;
        this.#again(result.retryAfterMs);
      } else {
        this.data = result.data;
        this.seq = Math.max(result.seq, this.#wantedSeq);
        this.error = null;
        this.building = null;
      }
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#failed(error instanceof ApiError ? error : new ApiError('internal', 0, String(error)));
    } finally {
      if (this.#abort === abort) this.loading = false;
    }
    if (url !== this.#url || this.retryAt !== null) return;
    if (this.#wantedSeq > this.seq) this.#later();
    else if (this.#options.everyMs) this.#timer = setTimeout(() => this.refresh(), this.#options.everyMs);
  }

  #failed(error: ApiError): void {
    this.building = null;
    this.error = error;
    // A tab that asks at the wrong moment goes on by itself; other errors want a change.
    if (error.status === 503 || error.code === 'unreachable') this.#again(error.details.retryAfterMs ?? 3000);
    else if (error.status === 401) void session.require().then(() => this.refresh());
    else this.#wantedSeq = 0;
  }

  #again(ms: number): void {
    this.retryAt = Date.now() + ms;
    this.#cancel();
    this.#timer = setTimeout(() => void this.#ask(), ms);
  }

  #cancel(): void {
    clearTimeout(this.#timer);
    this.#dueAt = null;
  }

  #stop(): void {
    this.#abort?.abort();
    this.#cancel();
    document.removeEventListener('visibilitychange', this.#shown);
    this.loading = false;
    this.building = null;
    this.retryAt = null;
  }

  end(): void {
    this.#stop();
    this.#url = '';
  }
}

/**
 * A fresh answer for the component that calls it. `parameters` is read reactively; null asks for nothing.
 *
 *     const tasks = query('/api/tasks', () => ({ query: { open: 'true', limit: 200 } }), { keys: ['tasks'] });
 */
export function query<P extends ReadPath, const A extends Parameters<P> = Parameters<P>>(
  path: P,
  parameters: () => A | null,
  options: QueryOptions = {},
): Query<P> {
  const made = new Query<P>(path, options);
  $effect.pre(() => {
    const asked = parameters();
    const asOf = router.asOf;
    if (!session.known || !session.mayRead) return;
    untrack(() => made.change(asked, asOf));
  });
  $effect(() => {
    const leave = live.onStale((keys, seq) => made.listen(keys, seq));
    return () => {
      leave();
      made.end();
    };
  });
  return made;
}
