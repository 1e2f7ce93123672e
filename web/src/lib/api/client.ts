import { parseExact } from '../json';
import { at, buildHash } from '../root';
import type { components, paths } from './types';

export type Schemas = components['schemas'];

/** Paths that can be read. */
export type ReadPath = {
  [P in keyof paths]: paths[P] extends { get: { responses: { 200: unknown } } } ? P : never;
}[keyof paths];

type Get<P extends ReadPath> = paths[P]['get'];

/** Answer of a path. */
export type Answer<P extends ReadPath> =
  Get<P> extends { responses: { 200: { content: { 'application/json': infer A } } } } ? A : never;

/** Parameters of a path, without as_of and min_seq, which the client adds. */
export type QueryOf<P extends ReadPath> =
  Get<P> extends { parameters: { query?: infer Q } }
    ? Omit<NonNullable<Q>, 'as_of' | 'min_seq'>
    : Record<string, never>;

export type PathOf<P extends ReadPath> = Get<P> extends { parameters: { path: infer I } } ? I : undefined;

export type ErrorCode =
  | Schemas['Problem']['code']
  | 'wrong_token'
  | 'code_used'
  | 'locked_out'
  | 'forbidden'
  | 'unreachable'
  | 'not_json'
  | 'no_past'
  | 'store_unreadable';

/** A request that was not fulfilled. `code` decides what the page says; `message` and `hint` are the server's English. */
export class ApiError extends Error {
  override name = 'ApiError';
  constructor(
    readonly code: ErrorCode,
    /** Status of the answer, 0 if there was none. */
    readonly status: number,
    message: string,
    readonly details: {
      field?: string;
      value?: string;
      allowed?: string[];
      hint?: string;
      /** Method and path with query of the request. */
      request?: string;
      /** Seq that the answer reflects. */
      seq?: number;
      /** Milliseconds after which the server wants to be asked again. */
      retryAfterMs?: number;
    } = {},
  ) {
    super(message);
  }
}

/** The snapshot of a point in time is being built; ask again after `retryAfterMs`. */
export class Building {
  constructor(
    readonly progress: Pick<Schemas['Building'], 'done' | 'total' | 'before'>,
    readonly retryAfterMs: number,
  ) {}
}

export interface Result<A> {
  data: A;
  /** Seq up to which the answer reflects the log. */
  seq: number;
}

/** Answers by URL, to send their ETag and to show a page at once when it is opened again. The least recently used is dropped. */
class Answers {
  #kept = new Map<string, { etag: string | null; result: Result<unknown>; size: number }>();
  #capacity = 300;
  /** Characters of all, and how many there may be: answers can be large. */
  #size = 0;
  #largest = 6_000_000;

  get(url: string) {
    const found = this.#kept.get(url);
    if (found) {
      this.#kept.delete(url);
      this.#kept.set(url, found);
    }
    return found;
  }

  put(url: string, etag: string | null, result: Result<unknown>, size: number) {
    this.#drop(url);
    this.#kept.set(url, { etag, result, size });
    this.#size += size;
    while (this.#kept.size > this.#capacity || this.#size > this.#largest) this.#drop(this.#kept.keys().next().value!);
  }

  #drop(url: string) {
    this.#size -= this.#kept.get(url)?.size ?? 0;
    this.#kept.delete(url);
  }

  clear() {
    this.#kept.clear();
    this.#size = 0;
  }
}

export const answers = new Answers();

/** Whether an answer may be asked for again: further pages of a list belong to a moment, and the page that shows them keeps them. */
const isKept = ({ searchParams }: URL) => !['before', 'after', 'cursor'].some((name) => searchParams.has(name));

/** Called with each answer: the build hash in its header and the server's clock. */
export const observers = new Set<(answer: { hash: string | null; date: number | null }) => void>();

export interface ReadOptions {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  /** Point in time that the answer should show. */
  asOf?: number | null;
  /** Event that the answer must reflect. */
  minSeq?: number;
  signal?: AbortSignal;
}

/** URL of a path below the root, with its query: `/api/tasks/{id}` becomes `ui/api/tasks/task_1`. */
export function urlOf(path: string, options: Pick<ReadOptions, 'path' | 'query' | 'asOf'> = {}): URL {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(options.path?.[name] ?? '')),
  );
  const url = at(filled.slice(1));
  for (const [key, value] of Object.entries(options.query ?? {})) {
    if (value === undefined || value === null || value === '') continue;
    url.searchParams.set(key, Array.isArray(value) ? value.join(',') : String(value));
  }
  if (options.asOf != null) url.searchParams.set('as_of', String(options.asOf));
  return url;
}

/** Reads a path. Throws ApiError; returns Building while a snapshot is made. An answer that has not changed is not sent again. */
export async function read<P extends ReadPath>(
  path: P,
  options: ReadOptions = {},
): Promise<Result<Answer<P>> | Building> {
  const url = urlOf(path, options);
  const key = url.href;
  const kept = answers.get(key);
  if (options.minSeq !== undefined && options.asOf == null) url.searchParams.set('min_seq', String(options.minSeq));
  const response = await send(url, {
    headers: kept?.etag ? { 'If-None-Match': kept.etag } : {},
    signal: options.signal,
    cache: 'no-store',
  });
  if (response.status === 304 && kept) {
    const result = { ...kept.result, seq: seqOf(response) ?? kept.result.seq };
    answers.put(key, kept.etag, result, kept.size);
    return result as Result<Answer<P>>;
  }
  const text = await response.text();
  const body = bodyOf(response, text, `GET ${url.pathname}${url.search}`);
  if (response.status === 202) {
    const { done, total, before } = body as Schemas['Building'];
    return new Building({ done, total, before }, retryAfter(response) ?? 1000);
  }
  const result = { data: body as Answer<P>, seq: seqOf(response) ?? 0 };
  if (isKept(url)) answers.put(key, response.headers.get('ETag'), result, text.length);
  return result;
}

/** Reads a path, and waits while the snapshot of its point in time is made. Throws ApiError, and AbortError when the signal ends it. */
export async function readBuilt<P extends ReadPath>(path: P, options: ReadOptions = {}): Promise<Result<Answer<P>>> {
  for (;;) {
    const result = await read(path, options);
    if (!(result instanceof Building)) return result;
    await new Promise((resume) => setTimeout(resume, result.retryAfterMs));
    options.signal?.throwIfAborted();
  }
}

/** Sends a change. The header marks requests of this page: other sites cannot set it. */
export async function write<A = unknown>(
  method: 'POST' | 'PATCH' | 'DELETE' | 'PUT',
  path: string,
  body?: unknown,
  parameters?: Record<string, string | number>,
): Promise<Result<A>> {
  const url = urlOf(path, { path: parameters });
  const response = await send(url, {
    method,
    headers: { 'Content-Type': 'application/json', 'X-Openclawd-Ui': '1' },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: 'no-store',
  });
  const answer = bodyOf(response, await response.text(), `${method} ${url.pathname}`);
  return { data: answer as A, seq: seqOf(response) ?? 0 };
}

/** What all who use the page share under a key; `etag` is its version. */
export interface Kept {
  value: unknown;
  etag: string;
}

/** Reads what is shared under a key; its value is null if nothing is yet. Throws ApiError: `not_found` if the server keeps nothing. */
export async function readKept(key: string): Promise<Kept> {
  const url = at(`store/${key}`);
  return await keptOf(await send(url, { cache: 'no-store' }), `GET ${url.pathname}`);
}

/** Replaces the version that `etag` names. Throws ApiError: `conflict` if there is another one by now. */
export async function replaceKept(key: string, { value, etag }: Kept): Promise<Kept> {
  const url = at(`store/${key}`);
  const response = await send(url, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'X-Openclawd-Ui': '1', 'If-Match': etag },
    body: JSON.stringify({ value }),
    cache: 'no-store',
  });
  return await keptOf(response, `PUT ${url.pathname}`);
}

async function keptOf(response: Response, request: string): Promise<Kept> {
  const body = bodyOf(response, await response.text(), request) as { value?: unknown } | null;
  return { value: body?.value ?? null, etag: response.headers.get('ETag') ?? '' };
}

/** Paths of questions that are sent as a body. */
export type AskPath = {
  [P in keyof paths]: paths[P] extends { post: { responses: { 200: unknown; 202: unknown } } } ? P : never;
}[keyof paths];

/** Answer to a question that is sent as a body. */
export type Asked<P extends AskPath> = paths[P] extends {
  post: { responses: { 200: { content: { 'application/json': infer A } } } };
}
  ? A
  : never;

/** Sends a question that changes nothing. Integers that are too large for a number come as text, with all digits. */
export async function ask<P extends AskPath>(
  path: P,
  body: unknown,
  options: { asOf?: number | null; signal?: AbortSignal } = {},
): Promise<Result<Asked<P>> | Building> {
  const url = urlOf(path, { asOf: options.asOf });
  const response = await send(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Openclawd-Ui': '1' },
    body: JSON.stringify(body),
    signal: options.signal,
    cache: 'no-store',
  });
  const answer = bodyOf(response, await response.text(), `POST ${url.pathname}`, parseExact);
  if (response.status === 202) {
    const { done, total, before } = answer as Schemas['Building'];
    return new Building({ done, total, before }, retryAfter(response) ?? 1000);
  }
  return { data: answer as Asked<P>, seq: seqOf(response) ?? 0 };
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, credentials: 'same-origin' });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('unreachable', 0, String(error), {
      request: `${init.method ?? 'GET'} ${url.pathname}${url.search}`,
    });
  }
  observe(response);
  return response;
}

/** Tells the observers of an answer. */
export function observe({ headers }: Response): void {
  const date = Date.parse(headers.get('Date') ?? '');
  for (const look of observers) {
    look({ hash: headers.get('X-Openclawd-Ui'), date: Number.isNaN(date) ? null : date });
  }
}

/** The JSON of an answer, or throws ApiError if the answer is a problem. */
function bodyOf(
  response: Response,
  text: string,
  request: string,
  parse: (text: string) => unknown = JSON.parse,
): unknown {
  let body: unknown;
  try {
    body = text === '' ? null : parse(text);
  } catch {
    body = undefined;
  }
  if (response.ok && body !== undefined) return body;
  const problem = (body ?? {}) as Partial<Schemas['Problem']>;
  const byStatus = ({ 401: 'unauthorized', 403: 'forbidden', 404: 'not_found' } as const)[response.status];
  const code = problem.code ?? (response.ok ? 'not_json' : (byStatus ?? 'internal'));
  throw new ApiError(code, response.status, problem.error ?? (text.slice(0, 200) || response.statusText), {
    field: problem.field,
    value: problem.value,
    allowed: problem.allowed,
    hint: problem.hint,
    request,
    seq: seqOf(response),
    retryAfterMs: retryAfter(response),
  });
}

function seqOf(response: Response): number | undefined {
  const header = response.headers.get('X-As-Of-Seq');
  return header === null ? undefined : Number(header);
}

function retryAfter(response: Response): number | undefined {
  const header = response.headers.get('Retry-After');
  if (header === null) return undefined;
  const seconds = Number(header);
  return Number.isFinite(seconds) ? Math.max(200, seconds * 1000) : undefined;
}

/** True if an answer comes from another build of the page than the one that runs. */
export const isOtherBuild = (hash: string | null): boolean => hash !== null && buildHash !== null && hash !== buildHash;
