import { session } from '../session.svelte';
import { GatewayError } from './client';
import { gateway, newKey } from './gateway.svelte';
import {
  empty,
  rowsOf,
  withAgent,
  withChat,
  withHistory,
  withOlder,
  withOutgoing,
  withoutOutgoing,
  withoutRuns,
  withSent,
  type AgentEvent,
  type ChatEvent,
  type History,
  type Outgoing,
  type State,
} from './model';

/** A session in the menu. */
export interface SessionEntry {
  key: string;
  label?: string;
  derivedTitle?: string;
  isMain?: boolean;
  updatedAt: number;
  queue?: { depth: number; running: number };
}

const pageSize = 100;

/** Messages that were not sent when the page was left or loaded again: they are sent when it is back. */
const outboxKey = (sessionKey: string) => `chat outbox ${session.info.logId} ${sessionKey}`;

/** The chat in one session: its messages, what is on its way, and what is being answered. It works between `start` and the function that this returns. */
export class Chat {
  state: State = $state.raw(empty);
  /** The first history has come. */
  ready = $state(false);
  /** Why it could not be read. */
  error: GatewayError | null = $state.raw(null);
  loadingOlder = $state(false);
  /** Runs of the session that go on, and those that wait for their turn. */
  queue = $state({ depth: 0, running: 0 });
  sessions: SessionEntry[] = $state.raw([]);
  /** The last answer that has come to its end, for screen readers. */
  answered = $state('');

  readonly rows = $derived(rowsOf(this.state, this.queue.running));
  /** Something is being answered. */
  readonly busy = $derived(this.queue.running > 0 || this.state.runs.some(({ state }) => state === 'running'));
  /** It is being answered, and nothing of the answer is there yet. */
  readonly thinking = $derived(
    this.queue.running > 0 && !this.state.runs.some(({ state }) => state === 'running') && this.ready,
  );

  #reading = false;
  #again = false;
  #wanted: ReturnType<typeof setTimeout> | undefined;
  #ended = true;
  #delivering = false;

  constructor(
    readonly agentId: string,
    readonly sessionKey: string,
  ) {}

  start(): () => void {
    this.#ended = false;
    for (const { key, text } of this.#stored()) this.state = withOutgoing(this.state, key, text, Date.now());
    const leave = gateway.use({
      opened: () => this.#opened(),
      event: (name, payload) => this.#event(name, payload),
    });
    return () => {
      this.#ended = true;
      clearTimeout(this.#wanted);
      leave();
    };
  }

  send(text: string): void {
    const key = newKey();
    this.state = withOutgoing(this.state, key, text, Date.now());
    this.#store();
    void this.#deliver();
  }

  /** Sends a message again that was refused. A new key makes it a new message. */
  resend(key: string): void {
    const item = this.state.outbox.find((item) => item.key === key);
    if (!item) return;
    this.discard(key);
    this.send(item.text);
  }

  discard(key: string): void {
    this.state = withoutOutgoing(this.state, key);
    this.#store();
  }

  /** Stops what is being answered; a run that waits keeps its turn. */
  async stop(): Promise<void> {
    const run = this.state.runs.find(({ state }) => state === 'running');
    await gateway.request('chat.abort', { sessionKey: this.sessionKey, ...(run ? { runId: run.runId } : {}) });
    this.#read();
  }

  async loadOlder(): Promise<void> {
    const cursor = this.state.older;
    if (cursor === null || this.loadingOlder) return;
    this.loadingOlder = true;
    try {
      const page = await gateway.request<History>('chat.history', {
        sessionKey: this.sessionKey,
        limit: pageSize,
        cursor,
      });
      this.state = withOlder(this.state, page, cursor);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
    } finally {
      this.loadingOlder = false;
    }
  }

  #opened(): void {
    this.state = withoutRuns(this.state);
    this.#read();
    void this.#deliver();
  }

  #event(name: string, payload: unknown): void {
    const event = payload as ChatEvent & AgentEvent;
    if ((name !== 'chat' && name !== 'agent') || event.sessionKey !== this.sessionKey) return;
    if (name === 'agent') {
      const phase = event.data?.phase;
      this.state = withAgent(this.state, event, Date.now());
      if (event.stream === 'tool' || (event.stream === 'lifecycle' && phase === 'start')) this.#read();
      return;
    }
    this.state = withChat(this.state, event, Date.now());
    if (event.state === 'delta') return;
    this.answered = this.state.runs.find(({ runId }) => runId === event.runId)?.text.slice(0, 300) ?? '';
    this.#read();
  }

  /** Sends what waits, one after the other: the gateway answers requests at the same time, and would change their order. */
  async #deliver(): Promise<void> {
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      while (gateway.state === 'open') {
        const next = this.state.outbox.find(({ state }) => state === 'sending');
        if (!next || !(await this.#request(next))) return;
      }
    } finally {
      this.#delivering = false;
    }
  }

  /** Sends a message; false if it is unknown whether it arrived. Sent again with its key, it is the same message. */
  async #request({ key, text }: Outgoing): Promise<boolean> {
    try {
      await gateway.request('chat.send', { sessionKey: this.sessionKey, message: text, idempotencyKey: key });
      this.state = withSent(this.state, key, 'accepted');
    } catch (error) {
      const failed = error instanceof GatewayError ? error : new GatewayError('UNAVAILABLE', String(error), false);
      if (failed.lost) return false;
      this.state = withSent(this.state, key, 'failed', failed.message);
    }
    this.#store();
    this.#read();
    return true;
  }

  /** Reads the newest messages soon: several reasons at once are one request. */
  #read(): void {
    if (this.#ended) return;
    if (this.#reading) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#wanted);
    this.#wanted = setTimeout(() => void this.#readNow(), 30);
  }

  async #readNow(): Promise<void> {
    if (this.#reading || this.#ended || gateway.state !== 'open') return;
    this.#reading = true;
    this.#again = false;
    const asked = this.state.moment;
    try {
      const [history, { sessions }] = await Promise.all([
        gateway.request<History>('chat.history', { sessionKey: this.sessionKey, limit: pageSize }),
        gateway.request<{ sessions: SessionEntry[] }>('sessions.list', {
          agentId: this.agentId,
          limit: 100,
          includeDerivedTitles: true,
        }),
      ]);
      this.state = withHistory(this.state, history, asked);
      this.sessions = sessions;
      this.queue = sessions.find(({ key }) => key === this.sessionKey)?.queue ?? { depth: 0, running: 0 };
      this.ready = true;
      this.error = null;
      this.#store();
    } catch (error) {
      if (error instanceof GatewayError && !error.lost) {
        this.error = error;
        if (error.retryable) this.#again = true;
      }
    } finally {
      this.#reading = false;
    }
    if (this.#again) setTimeout(() => this.#read(), this.error ? 2000 : 0);
  }

  #stored(): { key: string; text: string }[] {
    try {
      return JSON.parse(sessionStorage.getItem(outboxKey(this.sessionKey)) ?? '[]') as { key: string; text: string }[];
    } catch {
      return [];
    }
  }

  #store(): void {
    const unsent = this.state.outbox.filter(({ state }) => state === 'sending').map(({ key, text }) => ({ key, text }));
    if (unsent.length > 0) sessionStorage.setItem(outboxKey(this.sessionKey), JSON.stringify(unsent));
    else sessionStorage.removeItem(outboxKey(this.sessionKey));
  }
}
