import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { errorSentence, errors } from '../i18n/codes';
import { ApiError, Building, answers, read, readBuilt, urlOf, write, type ErrorCode } from './client';

let requests: Request[] = [];
let answer: () => Response = () => Response.json({});

beforeEach(() => {
  requests = [];
  answers.clear();
  vi.stubGlobal('fetch', async (input: URL, init: RequestInit) => {
    requests.push(new Request(input, init));
    return answer();
  });
});
afterEach(() => vi.unstubAllGlobals());

async function failure(run: () => Promise<unknown>): Promise<ApiError> {
  const error: unknown = await run().then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

it('builds URLs below the root', () => {
  expect(
    urlOf('/api/tasks/{id}', { path: { id: 'a/b ?' }, query: { q: '', agent: ['x', 'y'], n: 0 }, asOf: 5 }).pathname,
  ).toBe('/ui/api/tasks/a%2Fb%20%3F');
  expect(urlOf('/api/tasks', { query: { q: '', agent: ['x', 'y'], n: 0, none: undefined }, asOf: 5 }).search).toBe(
    '?agent=x%2Cy&n=0&as_of=5',
  );
});

it('reads an answer with its seq', async () => {
  answer = () => Response.json({ tasks: [] }, { headers: { 'X-As-Of-Seq': '42' } });
  expect(await read('/api/tasks')).toEqual({ data: { tasks: [] }, seq: 42 });
});

it('asks for min_seq now, and not in the past', async () => {
  answer = () => Response.json({});
  await read('/api/tasks', { minSeq: 7 });
  await read('/api/tasks', { minSeq: 7, asOf: 3 });
  expect(requests.map(({ url }) => new URL(url).search)).toEqual(['?min_seq=7', '?as_of=3']);
});

it('sends the ETag and keeps an answer that has not changed, with the newer seq', async () => {
  answer = () => Response.json({ a: 1 }, { headers: { ETag: 'W/"1"', 'X-As-Of-Seq': '1' } });
  await read('/api/tasks');
  answer = () => new Response(null, { status: 304, headers: { 'X-As-Of-Seq': '9' } });
  expect(await read('/api/tasks')).toEqual({ data: { a: 1 }, seq: 9 });
  expect(requests.map(({ headers }) => headers.get('If-None-Match'))).toEqual([null, 'W/"1"']);
});

it('says that a snapshot is being built', async () => {
  answer = () =>
    Response.json(
      { message: '', code: 'building', asOf: 3, done: 10, total: 50, before: 1 },
      { status: 202, headers: { 'Retry-After': '2' } },
    );
  const result = await read('/api/tasks', { asOf: 3 });
  expect(result).toBeInstanceOf(Building);
  expect(result).toMatchObject({ progress: { done: 10, total: 50, before: 1 }, retryAfterMs: 2000 });
});

it('waits until a snapshot is made', async () => {
  vi.useFakeTimers();
  let left = 3;
  answer = () =>
    left-- > 0
      ? Response.json({ done: 1, total: 5, before: 0 }, { status: 202, headers: { 'Retry-After': '2' } })
      : Response.json({ tasks: [] }, { headers: { 'X-As-Of-Seq': '3' } });
  const done = readBuilt('/api/tasks', { asOf: 3 });
  await vi.advanceTimersByTimeAsync(5900);
  expect(requests).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(200);
  expect(await done).toMatchObject({ data: { tasks: [] }, seq: 3 });
  vi.useRealTimers();
});

it('waits no longer for a snapshot that is not wanted any more', async () => {
  vi.useFakeTimers();
  answer = () => Response.json({ done: 1, total: 5, before: 0 }, { status: 202, headers: { 'Retry-After': '2' } });
  const abort = new AbortController();
  const done = readBuilt('/api/tasks', { asOf: 3, signal: abort.signal }).catch((error: Error) => error.name);
  await vi.advanceTimersByTimeAsync(100);
  abort.abort();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await done).toBe('AbortError');
  expect(requests).toHaveLength(1);
  vi.useRealTimers();
});

it('keeps no further pages of a list, and not more than some characters of all answers', async () => {
  answer = () => Response.json({ text: 'x'.repeat(1_000_000) }, { headers: { 'X-As-Of-Seq': '3' } });
  const key = (query: object) => urlOf('/api/events', { query: query as Record<string, unknown> }).href;
  for (const query of [{ before: 5 }, { after: 5 }, { cursor: 'c' }]) {
    await read('/api/events', { query });
    expect(answers.get(key(query))).toBeUndefined();
  }
  for (let limit = 1; limit <= 10; limit++) await read('/api/events', { query: { limit } });
  const kept = [...Array(10).keys()].filter((index) => answers.get(key({ limit: index + 1 })));
  expect(kept).toEqual([5, 6, 7, 8, 9]);
});

it('gives the parts of a problem', async () => {
  answer = () =>
    Response.json(
      { error: 'no', code: 'invalid_parameter', field: 'limit', value: 'x', hint: '1 to 1000' },
      { status: 400, headers: { 'X-As-Of-Seq': '5' } },
    );
  const error = await failure(() => read('/api/tasks', { query: { limit: 3 } }));
  expect(error).toMatchObject({
    code: 'invalid_parameter',
    status: 400,
    message: 'no',
    details: { field: 'limit', value: 'x', hint: '1 to 1000', request: 'GET /ui/api/tasks?limit=3', seq: 5 },
  });
});

it('keeps the wait that the server wants', async () => {
  answer = () => Response.json({ error: 'later', code: 'behind' }, { status: 503, headers: { 'Retry-After': '3' } });
  expect((await failure(() => read('/api/tasks'))).details.retryAfterMs).toBe(3000);
});

it.each([
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [502, 'internal'],
] as const)('has a code for a %i without JSON', async (status, code) => {
  answer = () => new Response('<html>proxy</html>', { status });
  expect((await failure(() => read('/api/tasks'))).code).toBe(code);
});

it('does not take a page of a proxy for an answer', async () => {
  answer = () => new Response('<html>log in</html>', { status: 200 });
  expect((await failure(() => read('/api/tasks'))).code).toBe('not_json');
});

it('says that the server cannot be reached', async () => {
  answer = () => {
    throw new TypeError('fetch failed');
  };
  expect((await failure(() => read('/api/tasks'))).code).toBe('unreachable');
});

it('marks changes, so that other sites cannot make them', async () => {
  answer = () => Response.json({ ok: true }, { headers: { 'X-As-Of-Seq': '8' } });
  expect(await write('POST', '/api/work/{effectId}/resend', {}, { effectId: 'a b' })).toEqual({
    data: { ok: true },
    seq: 8,
  });
  const [request] = requests;
  expect(request!.headers.get('X-Openclawd-Ui')).toBe('1');
  expect(request!.headers.get('Content-Type')).toBe('application/json');
  expect(new URL(request!.url).pathname).toBe('/ui/api/work/a%20b/resend');
});

it('has a sentence for each code, and the one of internal for others', () => {
  for (const code of Object.keys(errors) as ErrorCode[]) expect(errorSentence(code)).not.toBe('');
  expect(errorSentence('sql_refused')).not.toBe(errorSentence('internal'));
  expect(errorSentence('of_a_newer_server' as ErrorCode)).toBe(errorSentence('internal'));
});
