import { clock } from './clock.svelte';
import { session } from './session.svelte';

/** The role of an administrator, which ends by itself after a quarter of an hour. */
export const admin = {
  get may(): boolean {
    const { role, expiresAtMs } = session.info;
    return role === 'admin' && (expiresAtMs === null || clock.second < expiresAtMs);
  },
  /** Raises the session. Throws ApiError for a wrong token. */
  raise: (token: string): Promise<void> => session.logIn({ token, remember: false }),
};
