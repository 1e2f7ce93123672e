import type { Schemas } from '../api/client';

export type Frame = Schemas['Frame'];
export type Event = Schemas['Event'];

/** What the connection is doing. `catching_up`: replaying what was missed. */
export type LiveState = 'connecting' | 'live' | 'catching_up' | 'waiting' | 'hidden' | 'stopped';

/** The part of a WebSocket that the client uses. */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((message: { data: unknown }) => void) | null;
  onclose: ((close: { code: number; reason: string }) => void) | null;
  close(code?: number): void;
}

/** The world outside: sockets, time, randomness and the page's health requests. Tests pass their own. */
export interface Surroundings {
  /** Opens the socket; `since` is the last known seq, absent for "from now on". */
  open(since: number | undefined): Socket;
  /** Head of the log by an ordinary request; rejects if the server does not answer. */
  head(): Promise<number>;
  now(): number;
  random(): number;
  after(ms: number, run: () => void): () => void;
}

export interface Handlers {
  /** Events that were not seen before, in order, with the sessions that they change. */
  events(events: Event[], affectedWorkSessions: string[], seq: number): void;
  /** Any other frame, and the largest seq known when it came. */
  hint(frame: Frame, seq: number): void;
  /** Everything may have changed up to seq: after the first connection, and after a gap that is not replayed. */
  refresh(seq: number): void;
  /** Connected again at seq, after which all events come. Hints of the time between are lost. */
  reconnected(seq: number): void;
  /** The log ends before what was seen: the database was restored. */
  restored(head: number): void;
  /** State, or the numbers of the connection, changed. */
  changed(): void;
}

/** Gap in events above which visible data is read again instead of replayed. */
export const maxReplay = 5000;
/** Silence after which the head of the log is compared with what was received. */
export const probeAfterMs = 20_000;
/** Time in which the frame of an event comes that is in the log. */
export const lateMs = 2000;
const firstWaitMs = 500;
const longestWaitMs = 30_000;

/**
 * One socket that loses no event and gives none twice. It reconnects with the last seq that was applied, drops what is not newer, and
 * compares itself with the log when nothing comes, because a half-open connection looks like a quiet one.
 */
export class LiveClient {
  state: LiveState = 'stopped';
  /** Largest seq that was applied. */
  seq: number | undefined;
  /** Head of the log when it was last reported. */
  head = 0;
  lastFrameAt = 0;
  reconnects = 0;
  /** Time of the next attempt while waiting. */
  retryAt = 0;

  #world: Surroundings;
  #handlers: Handlers;
  #socket: Socket | undefined;
  #attempt = 0;
  #slowCloses: number[] = [];
  #cancelWait: () => void = () => {};
  #cancelProbe: () => void = () => {};

  constructor(world: Surroundings, handlers: Handlers) {
    this.#world = world;
    this.#handlers = handlers;
  }

  start(): void {
    if (this.#socket) return;
    this.#cancelWait();
    this.#open();
  }

  /** Closes the socket; start goes on from the same seq. */
  stop(state: 'hidden' | 'stopped' = 'stopped'): void {
    this.#drop();
    this.#set(state);
  }

  /** Tries at once instead of waiting: the network or the tab is back. */
  hurry(): void {
    if (this.state !== 'waiting') return;
    this.#attempt = 0;
    this.start();
  }

  #set(state: LiveState): void {
    this.state = state;
    this.#handlers.changed();
  }

  #open(): void {
    this.#set('connecting');
    const socket = this.#world.open(this.seq);
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      if (this.#socket === socket) this.#receive(String(data));
    };
    socket.onclose = ({ code, reason }) => {
      if (this.#socket === socket) this.#closed(code, reason);
    };
    this.#probeLater();
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#cancelWait();
    this.#cancelProbe();
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  #receive(text: string): void {
    const frame = JSON.parse(text) as Frame;
    this.lastFrameAt = this.#world.now();
    this.#probeLater();
    if (frame.type === 'connected') this.#connected(frame.data as Schemas['Connected']);
    else if (frame.type === 'coordination_event_new') this.#events(frame.data as Schemas['PushedEvents']);
    else this.#handlers.hint(frame, this.seq ?? this.head);
    if (this.state === 'catching_up' && (this.seq ?? 0) >= this.head) this.#set('live');
    else this.#handlers.changed();
  }

  #connected({ head }: Schemas['Connected']): void {
    this.#attempt = 0;
    this.head = head;
    if (this.seq === undefined) {
      this.seq = head;
      this.#set('live');
      this.#handlers.refresh(head);
    } else if (head < this.seq) {
      this.seq = head;
      this.#set('live');
      this.#handlers.restored(head);
    } else if (head - this.seq > maxReplay) {
      this.#skipTo(head);
    } else {
      this.#set(head > this.seq ? 'catching_up' : 'live');
      this.#handlers.reconnected(this.seq);
    }
  }

  #events({ events, affectedWorkSessions, seq }: Schemas['PushedEvents']): void {
    const known = this.seq ?? 0;
    const fresh = events.filter((event) => event.seq > known);
    this.head = Math.max(this.head, seq);
    if (fresh.length === 0) return;
    this.seq = Math.max(seq, fresh.at(-1)!.seq);
    this.#handlers.events(fresh, affectedWorkSessions, this.seq);
  }

  /** Continues from a later seq: pages read again what they show. */
  #skipTo(seq: number): void {
    this.#drop();
    this.seq = seq;
    this.#handlers.refresh(seq);
    this.#open();
  }

  #closed(code: number, reason: string): void {
    const refused = this.state === 'connecting';
    this.#socket = undefined;
    this.#cancelProbe();
    this.reconnects++;
    if (refused && this.seq !== undefined) void this.#compare(this.seq);
    if (code === 1013) this.#tooSlow(reason);
    else if (code === 1012) this.#wait(firstWaitMs);
    else this.#wait(this.#backOff());
  }

  /** A server that ends before `seq` refuses to go on from there, but browsers do not say why a connection failed. */
  async #compare(seq: number): Promise<void> {
    const head = await this.#world.head().catch(() => undefined);
    if (head === undefined || head >= seq || this.seq !== seq) return;
    this.seq = this.head = head;
    this.#handlers.restored(head);
    this.hurry();
  }

  /** The server closed because frames were not read fast enough. After three times in a minute, what was missed is not replayed. */
  #tooSlow(reason: string): void {
    const now = this.#world.now();
    this.#slowCloses = [...this.#slowCloses.filter((at) => now - at < 60_000), now];
    if (this.#slowCloses.length < 3) {
      const named = seqIn(reason);
      if (this.seq === undefined) this.seq = named;
      this.#open();
      this.#set('catching_up');
      return;
    }
    this.seq = undefined;
    this.#wait(5000);
  }

  #backOff(): number {
    const base = Math.min(longestWaitMs, firstWaitMs * 2 ** this.#attempt++);
    return base * (0.7 + 0.6 * this.#world.random());
  }

  #wait(ms: number): void {
    this.retryAt = this.#world.now() + ms;
    this.#set('waiting');
    this.#cancelWait = this.#world.after(ms, () => this.#open());
  }

  #probeLater(): void {
    this.#cancelProbe();
    this.#cancelProbe = this.#world.after(probeAfterMs, () => void this.#probe());
  }

  /** Nothing came for a while. The connection is dead if the server does not answer or has events that did not arrive. */
  async #probe(): Promise<void> {
    const socket = this.#socket;
    if (!socket) return;
    const heard = this.lastFrameAt;
    const head = await this.#world.head().catch(() => undefined);
    if (this.#socket !== socket) return;
    if (head !== undefined) this.head = Math.max(this.head, head);
    // A frame that came meanwhile says that the connection lives, and was followed by another probe.
    if (this.lastFrameAt !== heard) return;
    if (head === undefined || this.state === 'connecting') this.#dead();
    else if (head <= (this.seq ?? head)) this.#probeLater();
    else this.#cancelProbe = this.#world.after(lateMs, () => this.#dead()); // unless its frame comes
  }

  #dead(): void {
    this.#drop();
    this.reconnects++;
    this.#wait(this.#backOff());
  }
}

/** Seq in the reason of a close: {"code":"…","seq":12,"hint":"…"}. */
function seqIn(reason: string): number | undefined {
  try {
    const { seq } = JSON.parse(reason) as { seq?: unknown };
    return typeof seq === 'number' ? seq : undefined;
  } catch {
    return undefined;
  }
}
