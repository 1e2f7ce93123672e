import { ApiError, answers, write } from './api/client';
import { at, root } from './root';

export type Role = 'none' | 'read' | 'operate' | 'admin';

export interface SessionInfo {
  role: Role;
  /** Name that signs decisions. */
  by: string;
  loginRequired: boolean;
  mode: 'produce' | 'follow';
  version: string;
  logId: string;
  features: { gateway: boolean; sql: boolean; discord: boolean };
  expiresAtMs: number | null;
}

const nothing: SessionInfo = {
  role: 'none',
  by: '',
  loginRequired: false,
  mode: 'produce',
  version: '',
  logId: '',
  features: { gateway: false, sql: false, discord: false },
  expiresAtMs: null,
};

/** Who looks at the page and what they may do. The cookie is invisible to scripts; nothing secret is kept here. */
class Session {
  info: SessionInfo = $state.raw(nothing);
  known = $state(false);
  /** The login sheet is open; what was wanted goes on after it. */
  wanted = $state(false);
  error: ApiError | null = $state.raw(null);
  /** Those who wait for the login have one promise together. */
  #login: { done: Promise<void>; resolve: () => void } | null = null;

  get mayRead(): boolean {
    return this.info.role !== 'none';
  }
  get mayOperate(): boolean {
    return this.info.role === 'operate' || this.info.role === 'admin';
  }

  /** Whether there is a login to end. */
  get canEnd(): boolean {
    return this.mayRead && this.info.expiresAtMs !== null;
  }

  /** Reads the session, and redeems the one-time code in the fragment, which is taken out of the URL first. */
  async start(): Promise<void> {
    const code = /^#code=(.+)$/.exec(location.hash)?.[1];
    if (code !== undefined) {
      history.replaceState(history.state, '', location.pathname + location.search);
      await this.logIn({ code: decoded(code) }).catch(() => {});
    }
    await this.refresh();
    if (!this.mayRead) this.wanted = true;
  }

  async refresh(): Promise<void> {
    const response = await fetch(at('session'), { credentials: 'same-origin', cache: 'no-store' });
    if (!response.ok) throw new ApiError('internal', response.status, await response.text());
    this.info = { ...nothing, ...((await response.json()) as Partial<SessionInfo>) };
    this.known = true;
  }

  async logIn(proof: { code: string } | { token: string; remember: boolean }): Promise<void> {
    this.error = null;
    try {
      this.info = { ...nothing, ...(await write<SessionInfo>('POST', '/session', proof)).data };
    } catch (error) {
      this.error = error as ApiError;
      throw error;
    }
    this.known = true;
    this.wanted = false;
    answers.clear();
    this.#login?.resolve();
    this.#login = null;
  }

  async logOut(): Promise<void> {
    await write('DELETE', '/session');
    this.info = nothing;
    answers.clear();
    // Titles and words that were opened and searched here are not for the next user.
    for (const key of ['recent', 'searches']) localStorage.removeItem(key);
    location.assign(root);
  }

  /** Opens the login sheet; resolves after the login. */
  require(): Promise<void> {
    if (!this.wanted) void this.refresh().catch(() => {});
    this.wanted = true;
    if (this.#login) return this.#login.done;
    let resolve = () => {};
    const done = new Promise<void>((go) => (resolve = go));
    this.#login = { done, resolve };
    return done;
  }
}

/** The code of a link as it was meant. A text that is not encoded stays as it is: the server refuses it like any wrong code. */
function decoded(code: string): string {
  try {
    return decodeURIComponent(code);
  } catch {
    return code;
  }
}

export const session = new Session();
