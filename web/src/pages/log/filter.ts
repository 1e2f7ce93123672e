import type { QueryOf } from '$lib/api/client';
import type { Event } from '$lib/live/client';

type ApiQuery = QueryOf<'/api/events'>;
export type Doubt = NonNullable<ApiQuery['doubt']>;

/** Which events the log shows. All of it is in the URL. */
export interface Filter {
  types: string[];
  notTypes: string[];
  roles: string[];
  agent: string;
  ws: string;
  /** Internal bookkeeping too. */
  all: boolean;
  problems: boolean;
  /** What the classifier had to guess; empty: anything. It leaves the conditions alone that the API does not combine with it. */
  doubt: Doubt | '';
}

/** What the list and the inspector change of the filter: keys of the URL. */
export type Change = Record<string, string | string[] | undefined>;

interface Query {
  one(key: string): string | undefined;
  many(key: string): string[];
}

export function filterIn(query: Query): Filter {
  const doubt = query.one('doubt') as Doubt | undefined;
  const alone = doubt !== undefined;
  return {
    types: query.many('type'),
    notTypes: query.many('not'),
    roles: query.many('role'),
    agent: alone ? '' : (query.one('agent') ?? '').toLowerCase(),
    ws: alone ? '' : bare(query.one('ws') ?? ''),
    all: query.one('scope') === 'all',
    problems: !alone && query.one('problems') === '1',
    doubt: doubt ?? '',
  };
}

/** The keys of the URL that the filter is in. */
export const filterKeys = ['type', 'not', 'role', 'agent', 'ws', 'problems', 'doubt'] as const;

export function apiQuery(filter: Filter): ApiQuery {
  return {
    type: list(filter.types),
    notType: list(filter.notTypes),
    role: list(filter.roles) as ApiQuery['role'],
    agent: filter.agent || undefined,
    workSession: filter.ws ? [filter.ws] : undefined,
    isError: filter.problems || undefined,
    doubt: filter.doubt || undefined,
    scope: withInternal(filter) ? 'all' : undefined,
  };
}

/** A chosen type is shown even if it is internal bookkeeping. */
const withInternal = (filter: Filter): boolean => filter.all || filter.types.length > 0;

/** Whether a pushed event is one that the API returns for the filter. */
export function passes(event: Event, filter: Filter): boolean {
  const record = event as Record<string, unknown>;
  const is = (key: string, wanted: string) => String(record[key] ?? '').toLowerCase() === wanted;
  return (
    (withInternal(filter) || record.internal !== true) &&
    filter.doubt === '' &&
    (!filter.problems || record.isError === true) &&
    (filter.types.length === 0 || filter.types.includes(event.type)) &&
    !filter.notTypes.includes(event.type) &&
    (filter.roles.length === 0 || filter.roles.includes(String(record.eventRole))) &&
    (filter.agent === '' || ['agentId', 'from', 'to'].some((key) => is(key, filter.agent))) &&
    (filter.ws === '' || sessionOf(event) === filter.ws)
  );
}

/** The work session of an event, without its prefix; empty if it has none. */
export function sessionOf(event: Event): string {
  const record = event as Record<string, unknown>;
  const data = (event.data ?? {}) as Record<string, unknown>;
  const name = data.workSessionId ?? record.workSessionId;
  return typeof name === 'string' ? bare(name) : '';
}

const bare = (id: string): string => id.replace(/^ws:/, '');
const list = (items: string[]): string[] | undefined => (items.length > 0 ? items : undefined);
