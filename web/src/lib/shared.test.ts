// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Shared } from './shared.svelte';
import { kept, type View } from './views/view';

/** What the server keeps, and what it does before it answers a change. */
let value: unknown;
let version = 0;
let before: (() => void)[] = [];
let changes = 0;

/** Changes it as someone else does. */
function change(next: unknown) {
  value = next;
  version++;
}

beforeEach(() => {
  [value, before, changes] = [null, [], 0];
  vi.stubGlobal('fetch', async (_: URL, init: RequestInit) => {
    const answer = (status: number, body: object) =>
      new Response(JSON.stringify(body), { status, headers: { ETag: `"${version}"` } });
    if (init.method !== 'PUT') return answer(200, { value });
    before.shift()?.();
    if (new Headers(init.headers).get('If-Match') !== `"${version}"`) return answer(409, { code: 'conflict' });
    changes++;
    change((JSON.parse(init.body as string) as { value: unknown }).value);
    return answer(200, { value });
  });
});
afterEach(() => vi.unstubAllGlobals());

const view = (name: string, address = 'c'): View => ({ name, address });
const later = { name: 'later', address: 'newpage?x=1', extra: 1 };

async function read(stored: unknown, most?: number) {
  change(stored);
  const shared = new Shared('views', kept, most);
  await shared.refresh();
  return shared;
}

describe('a shared list', () => {
  it('keeps what this version of the page does not understand', async () => {
    const shared = await read([later, 'text', null, { ...view('a'), pinned: true }, view('b')]);
    expect(await shared.replace('c', undefined, view('c'))).toBe('done');
    expect(await shared.replace('a', view('a'), view('a', 'log'))).toBe('done');
    expect(await shared.replace('b', view('b'))).toBe('done');
    expect(await shared.add(() => [view('d')])).toBe('done');
    expect(value).toEqual([later, 'text', null, { name: 'a', address: 'log', pinned: true }, view('c'), view('d')]);
    expect(shared.list).toEqual([view('a', 'log'), view('c'), view('d')]);
  });

  it('replaces and deletes all that has the name', async () => {
    const shared = await read([view('a'), view('a', 'log'), view('b')]);
    await shared.replace('a', view('a'), view('a', 'tasks'));
    expect(value).toEqual([view('a', 'tasks'), view('b')]);
    change([view('b'), view('b', 'log')]);
    await shared.refresh();
    await shared.replace('b', view('b'));
    expect(value).toEqual([]);
  });

  it('writes nothing in the place of what is no list', async () => {
    for (const stored of ['text', { views: [] }, 7]) {
      change(stored);
      const shared = new Shared('views', kept);
      await expect(shared.refresh()).rejects.toMatchObject({ code: 'store_unreadable' });
      await expect(shared.replace('a', undefined, view('a'))).rejects.toMatchObject({ code: 'not_found' });
      expect(value).toEqual(stored);
    }
  });

  it('repeats a change on what someone else has stored meanwhile', async () => {
    const shared = await read([view('a')]);
    before = [() => change([view('a'), view('theirs')])];
    expect(await shared.replace('b', undefined, view('b'))).toBe('done');
    expect(value).toEqual([view('a'), view('theirs'), view('b')]);
  });

  it('does not overwrite or delete what someone else has stored under the name', async () => {
    for (const theirs of [[view('a', 'tasks')], []]) {
      for (const next of [view('a', 'log'), undefined]) {
        const shared = await read([view('a')]);
        before = [() => change(theirs)];
        changes = 0;
        // What is gone already need not be deleted.
        const ended = theirs.length === 0 && !next ? 'done' : 'changed';
        expect(await shared.replace('a', view('a'), next)).toBe(ended);
        expect([value, changes]).toEqual([theirs, 0]);
        expect(shared.list).toEqual(theirs);
      }
    }
    const shared = await read([]);
    before = [() => change([view('a', 'tasks')])];
    expect(await shared.replace('a', undefined, view('a'))).toBe('changed');
    expect(value).toEqual([view('a', 'tasks')]);
    expect(await shared.replace('a', shared.named('a'), view('a'))).toBe('done');
  });

  it('has no more than its limit, also after someone else was faster', async () => {
    const shared = await read([view('a')], 2);
    before = [() => change([view('a'), view('theirs')])];
    expect(await shared.replace('b', undefined, view('b'))).toBe('full');
    expect(value).toEqual([view('a'), view('theirs')]);
    expect(await shared.replace('a', view('a'), view('a', 'log'))).toBe('done');
  });

  it('gives up when others change it again and again', async () => {
    const shared = await read([]);
    before = Array.from({ length: 9 }, (_, index) => () => change([view(`theirs ${index}`)]));
    await expect(shared.replace('a', undefined, view('a'))).rejects.toMatchObject({ code: 'conflict' });
    expect(before).toHaveLength(4);
  });
});
