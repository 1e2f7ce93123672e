// @vitest-environment jsdom
import { flushSync } from 'svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { answers } from '$lib/api/client';
import { session } from '$lib/session.svelte';
import type { Event } from './model';
import { most, Pages } from './pages.svelte';

interface Asked {
  url: URL;
  answer(seqs: number[], nextBefore?: number | null): Promise<void>;
}
let asked: Asked[];
let end: () => void;
let ws = $state('a');
let anchor: number | null = null;
let pages: Pages;

const event = (seq: number) =>
  ({ seq, type: 'a2a.send', time: seq, id: `id-${seq}`, from: 'eden', to: 'seum', data: {} }) as unknown as Event;
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const seqs = () => pages.entries.map(({ seq }) => seq);
const settle = () => vi.advanceTimersByTimeAsync(0);

beforeEach(async () => {
  vi.useFakeTimers();
  asked = [];
  [ws, anchor] = ['a', null];
  answers.clear();
  vi.stubGlobal('fetch', async () => Response.json({ role: 'admin' }));
  await session.refresh();
  vi.stubGlobal('fetch', (url: URL) => {
    return new Promise<Response>((resolve) =>
      asked.push({
        url,
        async answer(list, nextBefore = null) {
          const threads = [{ id: 'conv:c1', events: list.map(event) }];
          resolve(Response.json({ session: { threads }, nextBefore, nextAfter: null }));
          await settle();
          pages.take(ws);
        },
      }),
    );
  });
  end = $effect.root(() => {
    pages = new Pages(
      () => ws,
      () => ({}),
      () => anchor,
    );
  });
  flushSync();
});
afterEach(() => {
  end();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Opens a work session. */
function open(id: string) {
  ws = id;
  flushSync();
  pages.take(id);
}

it('takes no page that was asked for before the reader had gone and come back', async () => {
  pages.take('a');
  await asked[0]!.answer(range(501, 1000), 501);
  const older = pages.loadOlder();
  open('b');
  await asked.at(-1)!.answer([7]);
  expect(seqs()).toEqual([7]);
  open('a');
  expect(seqs()).toEqual(range(501, 1000));
  const request = asked.find(({ url }) => url.searchParams.has('before'))!;
  await request.answer(range(1, 100), 1);
  await older;
  expect(seqs()).toEqual(range(501, 1000));
  expect([pages.older, pages.loading]).toEqual([501, false]);
  // And it can go on reading.
  const again = pages.loadOlder();
  await asked.at(-1)!.answer(range(1, 500), null);
  await again;
  expect(seqs()).toEqual(range(1, 1000));
});

it('takes no older page after it went to the end', async () => {
  pages.take('a');
  await asked[0]!.answer(range(501, 1000), 501);
  let older = pages.loadOlder();
  await asked.at(-1)!.answer(range(301, 500), 301);
  await older;
  older = pages.loadOlder();
  pages.toEnd();
  expect(pages.loading).toBe(false);
  await asked.at(-1)!.answer(range(101, 300), 101);
  await older;
  expect(seqs()).toEqual(range(501, 1000));
  expect(pages.older).toBe(501);
});

it('waits for a snapshot of the past instead of asking at once', async () => {
  pages.take('a');
  await asked[0]!.answer(range(501, 1000), 501);
  const resolvers: ((response: Response) => void)[] = [];
  vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => resolvers.push(resolve)));
  const older = pages.loadOlder();
  const building = { done: 1, total: 2, before: 0 };
  resolvers[0]!(Response.json(building, { status: 202, headers: { 'Retry-After': '2' } }));
  await vi.advanceTimersByTimeAsync(1900);
  expect([resolvers.length, pages.loading]).toEqual([1, true]);
  await vi.advanceTimersByTimeAsync(200);
  resolvers[1]!(
    Response.json({
      session: { threads: [{ id: 'conv:c1', events: [event(500)] }] },
      nextBefore: null,
      nextAfter: null,
    }),
  );
  await older;
  expect(seqs()).toEqual(range(500, 1000));
});

it('adds events with the next frame, once each', async () => {
  pages.take('a');
  await asked[0]!.answer([1, 2]);
  pages.add([event(2), event(3)]);
  pages.add([event(3), event(4)]);
  expect(seqs()).toEqual([1, 2]);
  await vi.advanceTimersByTimeAsync(20);
  expect(seqs()).toEqual([1, 2, 3, 4]);
});

it('lets the first events go while the end is followed, and can read them again', async () => {
  pages.take('a');
  await asked[0]!.answer(range(1, 10));
  pages.add(range(11, most + 1).map(event));
  await vi.advanceTimersByTimeAsync(20);
  pages.add([event(most + 2)]);
  await vi.advanceTimersByTimeAsync(40);
  expect(seqs()).toEqual(range(1, most + 2));
  pages.following = true;
  pages.add([event(most + 3)]);
  await vi.advanceTimersByTimeAsync(40);
  expect(seqs()).toEqual(range(most / 2 + 3, most + 3));
  expect(pages.older).toBe(most / 2 + 3);
  void pages.loadOlder();
  expect(asked.at(-1)!.url.searchParams.get('before')).toBe(String(most / 2 + 3));
});
