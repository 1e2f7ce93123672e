import { tick } from 'svelte';
import { at, root } from './root';
import { formatPlace, many, one, parsePlace, type Place, type Query } from './url';

/** Parameters of a change of place. A value of undefined or '' takes the key away; other keys are kept. */
export type QueryChange = Record<string, string | string[] | number | undefined>;

/** Scroll positions and other small things by history entry; they survive a reload, not the tab. */
const entryKey = () => (history.state as { key?: string } | null)?.key ?? 'first';

/** A key that no other entry of the tab has. Not randomUUID: without TLS browsers have it on the machine itself only. */
const newKey = () => crypto.getRandomValues(new Uint32Array(3)).join('-');

/**
 * The URL is the state of the page: path, filters, open item, tab and point in time. Changing a filter replaces the history entry, opening
 * something pushes one.
 */
class Router {
  place: Place = $state.raw(parsePlace(''));
  /** Changes with each navigation to another page or item, not with filters. */
  visit = $state(0);
  /** Whether the last navigation was Back or Forward: then scroll positions are restored and the focus stays. */
  returning = false;

  get path(): string[] {
    return this.place.path;
  }
  get query(): Query {
    return this.place.query;
  }
  get hash(): string {
    return this.place.hash;
  }

  /** The point in time that the whole app shows; null is now. */
  get asOf(): number | null {
    const value = one(this.place.query, 'as_of');
    return value !== undefined && /^\d+$/.test(value) ? Number(value) : null;
  }

  /** Value of a query key. */
  one(key: string): string | undefined {
    return one(this.place.query, key);
  }
  /** Values of a query key, repeated or joined by commas. */
  many(key: string): string[] {
    return many(this.place.query, key);
  }

  start(): void {
    history.scrollRestoration = 'manual';
    this.place = this.#current();
    addEventListener('popstate', () => {
      this.returning = true;
      const place = this.#current();
      const same = place.path.join('/') === this.place.path.join('/');
      this.place = place;
      if (!same) this.visit++;
    });
    document.addEventListener('click', (event) => this.#click(event));
  }

  #current(): Place {
    const inside = location.href.startsWith(root.href) ? location.href.slice(root.href.length) : '';
    return parsePlace(inside);
  }

  /** URL of a place. Segments are encoded here; the point in time is kept unless the query names another. */
  href(path: readonly string[] | string, query: QueryChange = {}, hash = ''): string {
    const segments = typeof path === 'string' ? path.split('/').filter(Boolean) : [...path];
    const kept: QueryChange = this.asOf === null ? {} : { as_of: this.asOf };
    return at(formatPlace({ path: segments, query: clean({ ...kept, ...query }), hash }) || './').href;
  }

  /** Opens a place: a new history entry, and the page's heading gets the focus. */
  open(path: readonly string[] | string, query: QueryChange = {}, hash = ''): void {
    this.openUrl(this.href(path, query, hash));
  }

  openUrl(href: string): void {
    history.pushState({ key: newKey() }, '', href);
    const place = this.#current();
    const same = place.path.join('/') === this.place.path.join('/');
    this.returning = false;
    this.place = place;
    if (!same) this.visit++;
  }

  /** Changes filters, sort or tab in place. Keys that are not named stay as they are. */
  filter(change: QueryChange): void {
    this.#replace({ ...this.place, query: clean({ ...this.place.query, ...change }) });
  }

  /** Changes the fragment in place: what is selected within the page. */
  mark(hash: string): void {
    this.#replace({ ...this.place, hash });
  }

  /** Goes on to a place without a history entry of its own, as a redirection does. */
  replace(path: readonly string[] | string, query: QueryChange = {}, hash = ''): void {
    history.replaceState(history.state, '', this.href(path, query, hash));
    this.returning = false;
    this.place = this.#current();
    this.visit++;
  }

  /** Leaves or enters the past: a new history entry with the same page. */
  travel(asOf: number | null): void {
    const query = clean({ ...this.place.query, as_of: asOf ?? undefined });
    this.openUrl(at(formatPlace({ ...this.place, query }) || './').href);
  }

  #replace(place: Place): void {
    history.replaceState(history.state, '', at(formatPlace(place) || './').href);
    this.place = place;
  }

  /** Links within the app do not load the page again. Modified clicks, downloads and other targets are the browser's. */
  #click(event: MouseEvent): void {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target || link.hasAttribute('download') || !link.href.startsWith(root.href)) return;
    if (link.getAttribute('href')?.startsWith('#')) return;
    event.preventDefault();
    this.openUrl(link.href);
  }
}

function clean(change: QueryChange): Query {
  const query: Query = {};
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) continue;
    query[key] = typeof value === 'number' ? String(value) : value;
  }
  return query;
}

export const router = new Router();
export const href = router.href.bind(router);

/**
 * Keeps the scroll position of an element over Back and Forward: `<div {@attach keepScroll('list')}>`. The name is unique on the page.
 */
export function keepScroll(name: string) {
  return (element: HTMLElement) => {
    const key = `scroll ${entryKey()} ${name}`;
    const saved = router.returning ? Number(sessionStorage.getItem(key)) : 0;
    // The content may come later than the element.
    if (saved > 0) {
      const restore = () => {
        element.scrollTop = saved;
        if (Math.abs(element.scrollTop - saved) < 2) observer.disconnect();
      };
      const observer = new ResizeObserver(restore);
      for (const child of element.children) observer.observe(child);
      void tick().then(restore);
      setTimeout(() => observer.disconnect(), 2000);
    }
    const save = () => sessionStorage.setItem(key, String(Math.round(element.scrollTop)));
    element.addEventListener('scroll', save, { passive: true });
    return () => element.removeEventListener('scroll', save);
  };
}
