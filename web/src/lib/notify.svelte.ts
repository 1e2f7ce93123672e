import { Building, read } from './api/client';
import { nameOf } from './decide/name';
import { t } from './i18n/index.svelte';
import { live } from './live/live.svelte';
import { notifyWords } from './notify.words';
import { router } from './router.svelte';
import { session } from './session.svelte';

export type Permission = 'unsupported' | NotificationPermission;

const pauseMs = 2000;
/** Notifications at a time: after a long pause there may be many approvals. */
const most = 3;

/** The browser's notifications of new approvals. They are off until a person turns them on, and only that asks for the permission. */
class Notify {
  on = $state(false);
  permission: Permission = $state('unsupported');
  #known: Set<string> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  start(): void {
    this.permission = typeof Notification === 'undefined' ? 'unsupported' : Notification.permission;
    this.on = localStorage.getItem('notify') === 'on' && this.permission === 'granted';
    live.onStale((keys) => {
      if (this.on && (keys === 'all' || keys.has('approvals'))) this.#later();
    });
    if (this.on) this.#later();
  }

  /** Turns them on, asking the browser's permission if it is not known yet, or off. */
  async set(on: boolean): Promise<void> {
    if (on && this.permission === 'default') this.permission = await Notification.requestPermission();
    this.on = on && this.permission === 'granted';
    localStorage.setItem('notify', this.on ? 'on' : 'off');
    this.#known = null;
    if (this.on) this.#later();
  }

  #later(): void {
    this.#timer ??= setTimeout(() => void this.#look(), pauseMs);
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    if (!session.mayRead) return;
    try {
      const answer = await read('/api/approvals', { query: { limit: 100 } });
      if (answer instanceof Building) return;
      const fresh = answer.data.approvals.filter(({ id }) => this.#known !== null && !this.#known.has(id));
      this.#known = new Set(answer.data.approvals.map(({ id }) => id));
      for (const one of fresh.slice(0, most)) this.#show(one.id, nameOf(one));
    } catch {
      // The next frame asks again.
    }
  }

  #show(id: string, name: string): void {
    const shown = new Notification(t(notifyWords.title, name), { tag: `approval ${id}` });
    shown.onclick = () => {
      window.focus();
      router.open(['inbox', id]);
      shown.close();
    };
  }
}

export const notify = new Notify();
