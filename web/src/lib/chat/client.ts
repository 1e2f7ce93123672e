/** The part of a WebSocket that the client uses. */
export interface Socket {
  onmessage: ((message: { data: unknown }) => void) | null;
  onclose: ((close: { code: number; reason: string }) => void) | null;
  send(text: string): void;
  close(): void;
}

/** The world outside: sockets, time, randomness. Tests pass their own. */
export interface Surroundings {
  open(): Socket;
  random(): number;
  after(ms: number, run: () => void): () => void;
}

export interface Handlers {
  /** The gateway has let the page in, for the first time or again. */
  opened(hello: Hello): void;
  event(name: string, payload: unknown): void;
  /** A connection failed before the gateway let the page in. Browsers do not say why. */
  refused(): void;
  changed(): void;
}

/** What the page needs of the gateway's greeting. */
export interface Hello {
  snapshot?: { sessionDefaults?: { mainKey?: string } };
}

/** `waiting`: for the next attempt. */
export type GatewayState = 'connecting' | 'open' | 'waiting' | 'stopped';

/** A request that failed. `lost`: the connection ended or never was, so that it is unknown whether it arrived. */
export class GatewayError extends Error {
  override name = 'GatewayError';
  constructor(
    readonly code: string,
    message: string,
    readonly lost: boolean,
    readonly retryable = false,
  ) {
    super(message);
  }
}

/** Longest silence of a living connection: the gateway ticks every 30 seconds. */
export const silenceMs = 75_000;
export const requestMs = 30_000;
const firstWaitMs = 500;
const longestWaitMs = 15_000;

interface Waiting {
  resolve: (payload: unknown) => void;
  reject: (error: GatewayError) => void;
  cancel: () => void;
}

/** Requests and events over one socket that comes back by itself. Requests do not outlive their connection; their senders know what to repeat. */
export class GatewayClient {
  state: GatewayState = 'stopped';

  #world: Surroundings;
  #handlers: Handlers;
  #socket: Socket | undefined;
  #waiting = new Map<string, Waiting>();
  #next = 1;
  #attempt = 0;
  #cancelWait: () => void = () => {};
  #cancelSilence: () => void = () => {};

  constructor(world: Surroundings, handlers: Handlers) {
    this.#world = world;
    this.#handlers = handlers;
  }

  start(): void {
    if (this.#socket) return;
    this.#cancelWait();
    this.#set('connecting');
    const socket = this.#world.open();
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      if (this.#socket === socket) this.#receive(String(data));
    };
    socket.onclose = () => {
      if (this.#socket === socket) this.#closed();
    };
    this.#listen();
  }

  stop(): void {
    this.#attempt = 0;
    this.#drop();
    this.#set('stopped');
  }

  /** Tries at once instead of waiting. */
  hurry(): void {
    if (this.state !== 'waiting') return;
    this.#attempt = 0;
    this.start();
  }

  /** Calls a method; rejects with a GatewayError. */
  request<A>(method: string, params: object): Promise<A> {
    const socket = this.#socket;
    if (!socket || this.state !== 'open') return Promise.reject(new GatewayError('OFFLINE', 'not connected', true));
    const id = String(this.#next++);
    return new Promise<A>((resolve, reject) => {
      const cancel = this.#world.after(requestMs, () => {
        this.#settle(id)?.reject(new GatewayError('TIMEOUT', `${method}: no answer`, true));
        // A connection on which a request is lost is half open.
        if (this.#socket === socket) this.#closed();
      });
      this.#waiting.set(id, { resolve: resolve as (payload: unknown) => void, reject, cancel });
      socket.send(JSON.stringify({ type: 'req', id, method, params }));
    });
  }

  #set(state: GatewayState): void {
    this.state = state;
    this.#handlers.changed();
  }

  #settle(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.cancel();
    return waiting;
  }

  #receive(text: string): void {
    this.#listen();
    const frame = JSON.parse(text) as {
      type: string;
      id?: string;
      ok?: boolean;
      event?: string;
      payload?: unknown;
      error?: { code: string; message: string; retryable?: boolean };
    };
    if (frame.type === 'res') {
      const waiting = this.#settle(frame.id ?? '');
      if (frame.ok) waiting?.resolve(frame.payload);
      else
        waiting?.reject(
          new GatewayError(
            frame.error?.code ?? 'UNAVAILABLE',
            frame.error?.message ?? '',
            false,
            frame.error?.retryable === true,
          ),
        );
      return;
    }
    if (frame.event === 'hello-ok') {
      this.#attempt = 0;
      this.#set('open');
      this.#handlers.opened((frame.payload ?? {}) as Hello);
    } else if (frame.event !== undefined) this.#handlers.event(frame.event, frame.payload);
  }

  #listen(): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#world.after(silenceMs, () => this.#closed());
  }

  #closed(): void {
    const refused = this.state === 'connecting';
    this.#drop();
    const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** this.#attempt++) * (0.7 + 0.6 * this.#world.random());
    this.#cancelWait = this.#world.after(wait, () => this.start());
    this.#set('waiting');
    if (refused) this.#handlers.refused();
  }

  /** Forgets the socket; what was asked on it is lost. */
  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#cancelWait();
    this.#cancelSilence();
    if (socket) {
      socket.onmessage = socket.onclose = null;
      socket.close();
    }
    const lost = [...this.#waiting.keys()].map((id) => this.#settle(id)!);
    for (const { reject } of lost) reject(new GatewayError('OFFLINE', 'the connection was lost', true));
  }
}
