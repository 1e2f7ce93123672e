import { observe } from '../api/client';
import { paced } from '../paced';
import { at } from '../root';
import { session } from '../session.svelte';
import { LiveClient, type Event, type Frame, type LiveState, type Socket } from './client';
import { staleByEvents, staleByHint, type Key } from './stale';

/** Time after which a hidden tab closes its socket. */
const hiddenAfterMs = 5 * 60_000;

/** `touched`: something may have changed that no seq tells, as a file. */
type StaleListener = (keys: ReadonlySet<Key> | 'all', seq: number, touched: boolean) => void;
type EventListener = (events: Event[], seq: number) => void;

/** The tab's connection, as state for the page and as a source of stale keys for queries. */
class Live {
  state: LiveState = $state('stopped');
  seq: number = $state(0);
  head: number = $state(0);
  lastFrameAt: number = $state(0);
  reconnects: number = $state(0);
  retryAt: number = $state(0);
  /** The log ended before what was shown: the database was restored, and the page must be loaded again. */
  restored = $state(false);

  #stale = new Set<StaleListener>();
  #events = new Set<EventListener>();
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #client = new LiveClient(
    {
      open(since) {
        const url = at('ws');
        url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
        url.searchParams.set('scope', 'all');
        url.searchParams.set('topics', 'log,hints,ticks');
        if (since !== undefined) url.searchParams.set('since', String(since));
        return new WebSocket(url) as Socket;
      },
      async head() {
        const response = await fetch(at('api/health'), { cache: 'no-store', signal: AbortSignal.timeout(10_000) });
        observe(response);
        if (response.status === 401) void session.require(); // which also ends the attempts to connect
        if (!response.ok) throw new Error(`health: ${response.status}`);
        return ((await response.json()) as { seq: number }).seq;
      },
      now: () => Date.now(),
      random: () => Math.random(),
      after(ms, run) {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
    },
    {
      events: (events, sessions, seq) => {
        this.#events.forEach((listen) => listen(events, seq));
        this.#tell(staleByEvents(events, sessions), seq, false);
      },
      hint: (frame: Frame, seq) => this.#tell(staleByHint(frame), seq, true),
      // Before the first connection no notice of files came. What the server itself does is an event.
      refresh: (seq) => this.#tell('all', seq, this.#client.reconnects > 0 || session.info.mode === 'follow'),
      reconnected: (seq) => this.#tell('all', seq, true),
      restored: () => (this.restored = true),
      changed: () => this.#draw(),
    },
  );

  start(): void {
    this.#client.start();
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.#hiding);
      if (document.hidden) this.#hiding = setTimeout(() => this.#hide(), hiddenAfterMs);
      else if (this.#client.state === 'hidden') this.#client.start();
      else this.#client.hurry();
    });
    addEventListener('online', () => this.#client.hurry());
  }

  /** Closes the socket until resume. */
  pause(): void {
    this.#client.stop();
  }

  resume(): void {
    if (this.#client.state === 'stopped') this.#client.start();
  }

  #hide(): void {
    if (this.#client.state !== 'stopped') this.#client.stop('hidden');
  }

  /** Tries at once. */
  hurry(): void {
    this.#client.hurry();
  }

  /** Calls back with what each frame makes stale. Returns the function that ends it. */
  onStale(listen: StaleListener): () => void {
    this.#stale.add(listen);
    return () => this.#stale.delete(listen);
  }

  /** Calls back with new events, in order and once each. Returns the function that ends it. */
  onEvents(listen: EventListener): () => void {
    this.#events.add(listen);
    return () => this.#events.delete(listen);
  }

  /** Seq up to which events have been handed to listeners, at once; `seq` is for showing. */
  get applied(): number {
    return this.#client.seq ?? 0;
  }

  /** Number of listeners, which is that of the frame after a page is left. */
  get listeners(): number {
    return this.#stale.size + this.#events.size;
  }

  #tell(keys: ReadonlySet<Key> | 'all', seq: number, touched: boolean): void {
    this.#stale.forEach((listen) => listen(keys, seq, touched));
  }

  /** Copies what the connection says of itself: at once when its state changes, and else at the pace of the screen. */
  #draw(): void {
    if (this.state === this.#client.state) this.#drawSoon();
    else this.#copy();
  }

  #drawSoon = paced(() => this.#copy());

  #copy(): void {
    const client = this.#client;
    this.state = client.state;
    this.seq = client.seq ?? 0;
    this.head = client.head;
    this.lastFrameAt = client.lastFrameAt;
    this.reconnects = client.reconnects;
    this.retryAt = client.retryAt;
  }
}

export const live = new Live();
