import { appendFile, readFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { conversation, pair } from './stage/live.ts';
import { logFile, textOf, until, writeHome } from './stage/server.ts';
import { expect, shown, test, visit } from './stage/test.ts';

const list = (page: Page) => page.getByRole('log', { name: '이벤트' });
const rowsOf = (page: Page) => list(page).locator('[data-seq]');
const row = (page: Page, seq: number) => list(page).locator(`[data-seq="${seq}"]`);
const inspector = (page: Page) => page.getByRole('complementary', { name: '이벤트' });

/** Seqs of the rows in the document, in order. */
const seqsOf = (page: Page) =>
  rowsOf(page).evaluateAll((rows) => rows.map((row) => Number((row as HTMLElement).dataset.seq)));

const lastSeq = async (page: Page) => (await seqsOf(page)).at(-1) ?? 0;

/** Seqs of all rows that scrolling from the end of the list to its start shows, ascending. */
async function everySeq(page: Page): Promise<number[]> {
  const all = new Set<number>();
  for (let before = -1; all.size !== before || (await topOf(page)) > 0;) {
    before = all.size;
    for (const seq of await seqsOf(page)) all.add(seq);
    await list(page).evaluate((box) => (box.scrollTop -= box.clientHeight));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  return [...all].sort((a, b) => a - b);
}

const topOf = (page: Page) => list(page).evaluate((box) => box.scrollTop);

interface ApiEvent {
  seq: number;
  type: string;
}

test.describe('T-LOG', () => {
  test('T-LOG the tail follows, stops for a reader, and a pause loses nothing of 2,000 events', async ({
    page,
    serve,
    folder,
  }) => {
    test.setTimeout(120_000);
    await writeHome(folder, pair, conversation(0, 300));
    const server = await serve({ home: folder, args: ['--follow'] });
    await until(async () => (await server.head()) >= 300, 'the import');
    const add = async (first: number, count: number) => {
      const head = await server.head();
      await appendFile(logFile(folder), textOf(conversation(first, count)));
      await until(async () => (await server.head()) >= head + count, 'the import');
      return head + count;
    };
    await visit(page, server.url('log?ws=ws_flood'));
    const start = await lastSeq(page);
    await expect(row(page, start)).toBeInViewport();

    // It follows.
    const followed = await add(300, 40);
    await expect(row(page, followed)).toBeInViewport();

    // A reader who has scrolled up stays there, and is told what came.
    await list(page).evaluate((box) => (box.scrollTop -= 2000));
    await expect(page.getByRole('button', { name: '최신 이벤트로' })).toBeVisible();
    const position = await topOf(page);
    await add(340, 30);
    await expect(page.getByRole('button', { name: '새 이벤트 30개' })).toBeVisible();
    expect(await topOf(page)).toBe(position);
    await page.getByRole('button', { name: '새 이벤트 30개' }).click();
    await expect(row(page, followed + 30)).toBeInViewport();

    // A pause holds the view, and going on shows everything.
    await page.keyboard.press('l');
    await expect(page.getByText('멈춰 있습니다')).toBeVisible();
    await add(370, 2000);
    await expect(page.getByRole('button', { name: '새 이벤트 2,000개' })).toBeVisible();
    expect(await lastSeq(page)).toBe(followed + 30);
    await page.getByRole('button', { name: '이어 보기' }).click();
    const last = followed + 30 + 2000;
    await expect(row(page, last)).toBeInViewport();

    const listed: number[] = [];
    for (let after = 0; after < last;) {
      const answer = await server.api<{ events: ApiEvent[]; nextAfter: number }>(
        `events?workSession=ws_flood&limit=1000&after=${after}`,
      );
      listed.push(...answer.events.map(({ seq }) => seq));
      after = answer.nextAfter;
    }
    expect(listed).toHaveLength(2370);
    expect(await everySeq(page)).toEqual(listed);
  });

  test('T-LOG shows what the URL asks for, and every filter is in the URL', async ({ page, hub }) => {
    const expected = async (query: string) =>
      (await hub.api<{ events: ApiEvent[] }>(`events?limit=1000&${query}`)).events.map(({ seq }) => seq);
    for (const [search, query] of [
      ['problems=1', 'isError=true'],
      ['type=task.blocked', 'type=task.blocked'],
      ['agent=ruda&type=a2a.send', 'agent=ruda&type=a2a.send'],
      [
        'not=a2a.response&not=a2a.send&agent=ruda&role=conversation.main',
        'notType=a2a.response,a2a.send&agent=ruda&role=conversation.main',
      ],
      ['problems=1&scope=all&agent=eden', 'isError=true&scope=all&agent=eden'],
    ] as const) {
      await visit(page, hub.url(`log?${search}`));
      const seqs = await expected(query);
      expect(seqs.length, search).toBeGreaterThan(0);
      await expect(row(page, seqs.at(-1)!), search).toBeInViewport();
      expect(await everySeq(page), search).toEqual(seqs);
    }

    await visit(page, hub.url('log?mine=kept'));
    await page.getByRole('button', { name: '문제만' }).click();
    await expect(page).toHaveURL(/log\?mine=kept&problems=1$/);
    await page.getByLabel('에이전트', { exact: true }).selectOption('eden');
    await page.getByLabel('역할').selectOption('conversation.main');
    const kinds = page.getByLabel('종류');
    const tasks = kinds.locator('optgroup[label="작업"] option');
    await expect(tasks.filter({ hasText: 'task.blocked' })).toHaveText('작업 막힘 (task.blocked)');
    const names = await tasks.allTextContents();
    expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b, 'ko')));
    await kinds.selectOption('a2a.complete');
    await page.getByRole('button', { name: '내부도' }).click();
    for (const part of ['agent=eden', 'role=conversation.main', 'type=a2a.complete', 'scope=all', 'problems=1'])
      expect(page.url()).toContain(part);
    await page.getByRole('button', { name: '조건 모두 빼기' }).click();
    await expect(page).toHaveURL(/log\?mine=kept&scope=all$/);

    // From a cell: not this, and only this.
    const some = (await hub.api<{ events: ApiEvent[] }>('events?type=a2a.response&limit=1')).events[0]!;
    await visit(page, hub.url(`log?at=${some.seq}`));
    await row(page, some.seq).hover();
    await list(page).getByRole('button', { name: '답함 빼고 보기' }).click();
    await expect(page).toHaveURL(/not=a2a\.response/);
    await shown(page);
    await expect(row(page, some.seq)).toHaveCount(0);
    await page.getByRole('button', { name: "조건 '답함 제외' 빼기" }).click();
    await expect(page).not.toHaveURL(/not=/);
  });

  test('T-LOG the inspector shows causes and effects, and links lead along them', async ({ page, hub, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    interface Shown {
      event: ApiEvent;
      causes: { seq: number }[];
      effects: { seq: number }[];
      isError: boolean;
    }
    const { asOfSeq } = await hub.api<{ asOfSeq: number }>('events?limit=1');
    let found: Shown | undefined;
    for (let seq = asOfSeq - 60; seq > 1 && !found; seq--) {
      const one = await hub.api<Shown>(`events/${seq}`);
      if (one.causes.length > 1 && one.effects.length > 0) found = one;
    }
    const { event, causes, effects } = found!;
    await visit(page, hub.url(`log?scope=all&at=${event.seq}`));
    await expect(row(page, event.seq)).toBeInViewport();
    await expect(row(page, event.seq)).toHaveAttribute('aria-current', 'true');
    const aside = inspector(page);
    await expect(aside.getByRole('heading', { name: `이벤트 seq ${event.seq}` })).toBeVisible();
    for (const { seq } of [...causes, ...effects])
      await expect(aside.getByRole('link', { name: new RegExp(`^${seq} `) }).first()).toBeVisible();

    await aside
      .getByRole('link', { name: new RegExp(`^${causes[0]!.seq} `) })
      .first()
      .click();
    await expect(page).toHaveURL(new RegExp(`at=${causes[0]!.seq}(&|$)`));
    await expect(aside.getByRole('heading', { name: `이벤트 seq ${causes[0]!.seq}` })).toBeVisible();
    await expect(row(page, causes[0]!.seq)).toBeInViewport();
    await page.goBack();
    await expect(aside.getByRole('heading', { name: `이벤트 seq ${event.seq}` })).toBeVisible();

    // Keys: the next and previous event, problems, the record, the link.
    await page.keyboard.press(']');
    await expect(aside.getByRole('heading', { name: `이벤트 seq ${event.seq + 1}` })).toBeVisible();
    await page.keyboard.press('[');
    await page.keyboard.press('[');
    await expect(aside.getByRole('heading', { name: `이벤트 seq ${event.seq - 1}` })).toBeVisible();
    await page.keyboard.press('r');
    await expect(aside.getByRole('group', { name: '원본' })).toContainText('collabCategory:');
    await page.keyboard.press('y');
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(page.url());
    const before = (
      await hub.api<{ events: ApiEvent[] }>(`events?scope=all&isError=true&limit=1&before=${event.seq - 1}`)
    ).events[0]!;
    await page.keyboard.press('Shift+BracketLeft');
    await expect(page).toHaveURL(new RegExp(`at=${before.seq}(&|$)`));
    await expect(row(page, before.seq)).toBeInViewport();

    // As of that event, the log ends with it.
    await aside.getByRole('link', { name: '그때 보기' }).click();
    await expect(page).toHaveURL(new RegExp(`as_of=${before.seq}`));
    await expect(row(page, before.seq)).toBeVisible({ timeout: 20_000 });
    expect(await lastSeq(page)).toBe(before.seq);
    await expect(page.getByRole('button', { name: '멈춤' })).toHaveCount(0);
  });

  test('T-LOG the export is what the API answers, and the strip leads to a section', async ({
    page,
    serve,
    folder,
  }) => {
    test.setTimeout(120_000);
    await writeHome(folder, pair, conversation(0, 3000));
    const server = await serve({ home: folder, args: ['--follow'] });
    await until(async () => (await server.head()) >= 3000, 'the import');
    await visit(page, server.url('log?agent=seum&type=a2a.response'));
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: '내보내기' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^events-\d+\.ndjson$/);
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n');
    const events: unknown[] = [];
    for (let after = 0, end = 1; after < end;) {
      const answer = await server.api<{ events: unknown[]; nextAfter: number; asOfSeq: number }>(
        `events?agent=seum&type=a2a.response&limit=700&after=${after}`,
      );
      events.push(...answer.events);
      [after, end] = [answer.nextAfter, answer.asOfSeq];
    }
    expect(events).toHaveLength(1500);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(events);
    await expect(page.getByText('이벤트 1,500개를 내보냈습니다.')).toBeVisible();

    // Home is the first section of the log; the list then has both directions to go.
    const { buckets } = await server.api<{ buckets: { seq0: number; seq1: number }[] }>('events/histogram?buckets=120');
    await visit(page, server.url('log?scope=all'));
    const strip = page.getByRole('slider', { name: '로그에서의 위치' });
    await strip.focus();
    await page.keyboard.press('Home');
    await expect(page).toHaveURL(/at=1(&|$)/);
    await expect(row(page, 1)).toBeInViewport();
    await page.keyboard.press('ArrowRight');
    await expect(row(page, buckets[1]!.seq0)).toBeInViewport();
    await page.getByRole('button', { name: '최신 이벤트로' }).click();
    await expect(row(page, await server.head())).toBeInViewport();
  });
});
