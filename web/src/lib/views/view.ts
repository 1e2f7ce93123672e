import { dictionary } from '../i18n/index.svelte';
import type { Named } from '../named';
import { formatPlace, one, parsePlace, type Place, type Query } from '../url';

/** A page with its filters, under a name. The address is what follows `ui/`. */
export interface View extends Named {
  address: string;
}

export const mostName = 80;
export const mostAddress = 2000;
export const mostViews = 100;

/**
 * Pages that have views, and the keys of their filters. Nothing else of an address is kept: neither an open item nor a secret that someone wrote
 * into it.
 */
const filters = dictionary<Record<string, readonly string[]>>({
  c: ['cat', 'q', 'status', 'outcome', 'agent', 'open', 'sub', 'order'],
  tasks: ['view', 'q', 'agent', 'priority', 'status', 'ended'],
  agents: ['sort'],
  owed: ['to', 'from', 'kind', 'open'],
  log: ['type', 'not', 'role', 'agent', 'ws', 'problems', 'scope'],
  search: ['q', 'when', 'agent', 'role', 'cat', 'sort', 'outcome', 'status', 'open'],
});

/** The page of a place with its filters and its point in time; null if it has no views. */
export function filtersOf({ path, query }: Place): { page: string; query: Query } | null {
  const page = path[0] ?? '';
  const keys = filters[page];
  if (!keys) return null;
  const kept: Query = Object.fromEntries(keys.flatMap((key) => (query[key] === undefined ? [] : [[key, query[key]]])));
  const asOf = one(query, 'as_of');
  if (asOf !== undefined && /^\d{1,15}$/.test(asOf)) kept.as_of = asOf;
  return { page, query: kept };
}

/** The address under which a view of a place is kept; null if it has no views, or too many filters. */
export function addressOf(place: Place): string | null {
  const found = filtersOf(place);
  const address = found && formatPlace({ path: [found.page], query: found.query, hash: '' });
  return address !== null && address.length <= mostAddress ? address : null;
}

/** What an address of a view opens; null if it is no address of a page that has views. */
export function opened(address: string): ReturnType<typeof filtersOf> {
  if (address.length > mostAddress || !/^[a-z]+(\?[\x21-\x7e]*)?$/.test(address)) return null;
  return filtersOf(parsePlace(address));
}

/** A name as it is kept: in one form, whatever the keyboard makes, and in one line. */
export const nameOf = (typed: string): string =>
  typed
    .normalize('NFC')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();

/** The views in what was stored, each name once. Whatever else is there is left out, above all addresses that lead elsewhere. */
export function kept(value: unknown): View[] {
  if (!Array.isArray(value)) return [];
  const views = new Map<string, View>();
  for (const item of value) {
    const { name, address } = (item ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string' || typeof address !== 'string' || views.has(name)) continue;
    if (name === '' || name !== nameOf(name) || name.length > mostName || !opened(address)) continue;
    views.set(name, { name, address });
  }
  return [...views.values()];
}
