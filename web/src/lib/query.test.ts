// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { answers } from './api/client';
import { Query } from './query.svelte';
import { session } from './session.svelte';

let head = 1;
const asked = vi.fn(async () => new Response('{}', { headers: { 'X-As-Of-Seq': String(head) } }));

beforeEach(() => {
  answers.clear();
  asked.mockClear();
  vi.useFakeTimers();
  vi.stubGlobal('fetch', asked);
  head = 1;
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('asks again while frames come without a pause, and ever less often', async () => {
  const query = new Query('/api/health', { keys: ['events'], slowestMs: 4000 });
  query.change({}, null);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toHaveBeenCalledTimes(1);
  const within = async (ms: number) => {
    asked.mockClear();
    for (let passed = 0; passed < ms; passed += 25) {
      query.listen(new Set(['events'] as const), ++head);
      await vi.advanceTimersByTimeAsync(25);
    }
    return asked.mock.calls.length;
  };
  expect(await within(100)).toBe(1);
  expect(await within(3900)).toBeGreaterThanOrEqual(2);
  expect(await within(20_000)).toBe(5);
  await vi.advanceTimersByTimeAsync(4000);
  expect(query.seq).toBe(head);
  query.end();
});

/** Answers that come when the test gives them; the last one is that of the newest request. */
function deferred() {
  const open: { url: string; answer: (seq: number, status?: number) => Promise<void> }[] = [];
  vi.stubGlobal('fetch', (url: URL) => {
    if (url.pathname.endsWith('/session')) return Promise.resolve(new Response('{"role":"none"}'));
    return new Promise<Response>((resolve) =>
      open.push({
        url: String(url),
        async answer(seq, status = 200) {
          resolve(new Response(`{"seq":${seq}}`, { status, headers: { 'X-As-Of-Seq': String(seq) } }));
          await vi.advanceTimersByTimeAsync(0);
        },
      }),
    );
  });
  return open;
}
const events = new Set(['events'] as const);

it('asks again after an answer that may not have what came while it was on its way', async () => {
  const requests = deferred();
  const query = new Query('/api/health', { keys: ['events'] });
  query.change({}, null);
  query.listen(events, 7);
  await requests[0]!.answer(6);
  expect(query.seq).toBe(6);
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests).toHaveLength(2);
  expect(requests[1]!.url).toContain('min_seq=7');
  query.listen(events, 8);
  query.listen(events, 9);
  await requests[1]!.answer(8);
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests).toHaveLength(3);
  await requests[2]!.answer(9);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(3);
  expect(query.data).toEqual({ seq: 9 });
  query.end();
});

it('is satisfied by an answer that has what came while it was on its way', async () => {
  const requests = deferred();
  const query = new Query('/api/health', { keys: ['events'] });
  query.change({}, null);
  query.listen(events, 7);
  await requests[0]!.answer(7);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(1);
  query.end();
});

it('asks again after a hint, whatever seq it reflects, also if the hint comes while it asks', async () => {
  const requests = deferred();
  const query = new Query('/api/health', { keys: ['events'] });
  query.change({}, null);
  await requests[0]!.answer(5);
  query.listen(events, 5);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(requests).toHaveLength(1);
  query.listen(events, 5, true);
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests).toHaveLength(2);
  query.listen(events, 5, true);
  query.listen(events, 5, true);
  await requests[1]!.answer(5);
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests).toHaveLength(3);
  await requests[2]!.answer(5);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(3);
  query.end();
});

it('asks again after a failure if something came while it asked, and only then', async () => {
  const requests = deferred();
  const query = new Query('/api/health', { keys: ['events'] });
  query.change({}, null);
  await requests[0]!.answer(5);
  query.listen(events, 6);
  await vi.advanceTimersByTimeAsync(5000);
  query.listen(events, 7);
  await requests[1]!.answer(6, 404);
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests).toHaveLength(3);
  await requests[2]!.answer(7, 404);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(3);
  query.end();
});

it('forgets what came for other parameters', async () => {
  const requests = deferred();
  const query = new Query('/api/tasks', { keys: ['events'] });
  query.change({ query: { limit: 1 } }, null);
  query.listen(events, 9, true);
  query.change({ query: { limit: 2 } }, null);
  await requests[0]!.answer(9);
  await requests[1]!.answer(5);
  expect(query.data).toEqual({ seq: 5 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(2);
  query.end();
});

it('asks nothing more until the login, and then once', async () => {
  const requests = deferred();
  const query = new Query('/api/health', { keys: ['events'], everyMs: 1000 });
  query.change({}, null);
  await requests[0]!.answer(5);
  query.listen(events, 6);
  await vi.advanceTimersByTimeAsync(900);
  query.listen(events, 7);
  await requests[1]!.answer(0, 401);
  for (let seq = 8; seq < 20; seq++) {
    query.listen(events, seq, true);
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(requests).toHaveLength(2);
  vi.stubGlobal('fetch', asked);
  head = 20;
  await session.logIn({ code: 'x' });
  await vi.advanceTimersByTimeAsync(0);
  expect(query.seq).toBe(20);
  query.end();
});

it('asks for the state of the server without waiting for an event', async () => {
  const requests = deferred();
  const query = new Query('/api/health', { keys: ['events'], now: true });
  query.change({}, null);
  await requests[0]!.answer(5);
  query.listen(events, 6);
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests[1]!.url).not.toContain('min_seq');
  await requests[1]!.answer(5);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(2);
  query.end();
});

it('does not ask by itself while the tab is hidden', async () => {
  const query = new Query('/api/health', { everyMs: 1000 });
  query.change({}, null);
  await vi.advanceTimersByTimeAsync(0);
  const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toHaveBeenCalledTimes(1);
  hidden.mockReturnValue(false);
  document.dispatchEvent(new Event('visibilitychange'));
  expect(asked).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1500);
  expect(asked).toHaveBeenCalledTimes(3);
  query.end();
});
