import { at } from '../root';
import { session } from '../session.svelte';
import { GatewayClient, type GatewayState, type Hello, type Socket } from './client';

interface Listener {
  opened?: () => void;
  event?: (name: string, payload: unknown) => void;
}

/** The tab's connection to the gateway in the server, which adds what the gateway wants to know. It is open while something uses it. */
class Gateway {
  state: GatewayState = $state('stopped');
  /** Key of agents' main sessions. */
  mainKey = $state('main');

  #listeners = new Set<Listener>();
  #closing: ReturnType<typeof setTimeout> | undefined;
  #client = new GatewayClient(
    {
      open() {
        const url = at('gateway');
        url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
        return new WebSocket(url) as Socket;
      },
      random: () => Math.random(),
      after(ms, run) {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
    },
    {
      opened: (hello: Hello) => {
        this.mainKey = hello.snapshot?.sessionDefaults?.mainKey ?? 'main';
        this.#listeners.forEach((listener) => listener.opened?.());
      },
      event: (name, payload) => this.#listeners.forEach((listener) => listener.event?.(name, payload)),
      // The session may have ended; then the page asks for a login.
      refused: () =>
        void session
          .refresh()
          .then(() => (session.mayRead ? undefined : session.require()))
          .catch(() => {}),
      changed: () => (this.state = this.#client.state),
    },
  );

  constructor() {
    addEventListener('online', () => this.#client.hurry());
    document.addEventListener('visibilitychange', () => document.hidden || this.#client.hurry());
  }

  /** Keeps the connection open until the returned function is called. A listener that comes later is told at once that it is open. */
  use(listener: Listener): () => void {
    clearTimeout(this.#closing);
    this.#listeners.add(listener);
    if (this.state === 'open') listener.opened?.();
    else if (this.state === 'stopped') this.#client.start();
    return () => {
      this.#listeners.delete(listener);
      // From one chat to the next the connection stays.
      if (this.#listeners.size === 0) {
        this.#closing = setTimeout(() => this.#client.stop(), 1000);
      }
    };
  }

  /** Connects again, as what the session may do has changed. */
  restart(): void {
    if (this.state === 'stopped') return;
    this.#client.stop();
    this.#client.start();
  }

  hurry(): void {
    this.#client.hurry();
  }

  request<A>(method: string, params: object): Promise<A> {
    return this.#client.request<A>(method, params);
  }
}

export const gateway = new Gateway();

/** Whether this server's agents can be spoken to, and if not, why. */
export function chatRefusal(): 'follow' | 'no_gateway' | 'role' | null {
  if (session.info.mode === 'follow') return 'follow';
  if (!session.info.features.gateway) return 'no_gateway';
  return session.mayOperate ? null : 'role';
}

/** A key that no other request has: 128 random bits. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
