import { appendFile } from 'node:fs/promises';
import { violations } from './stage/axe.ts';
import { conversation, pair } from './stage/live.ts';
import { logFile, textOf, until, writeHome, type Server } from './stage/server.ts';
import { expect, move, shown, test, visit, type Page } from './stage/test.ts';

const count = 2600;
const thread = 'c/ws_flood/conv:flood?cat=all';

test.describe('a long thread', () => {
  let server: Server;
  test.beforeEach(async ({ serve, folder }) => {
    await writeHome(folder, pair, conversation(0, count));
    server = await serve({ home: folder, args: ['--follow'] });
    await until(async () => (await server.head()) >= count, 'the log', 60_000);
  });

  const message = (page: Page, number: number) =>
    page.getByRole('article').filter({ hasText: new RegExp(`메시지 ${number}(?!\\d)`) });

  /** Seq of a message. */
  async function seqOf(number: number): Promise<number> {
    for (let after = 0; ;) {
      const { session, nextAfter } = await server.api(`work-sessions/ws_flood?limit=1000&after=${after}`);
      for (const event of session.threads[0].events) if (event.displayText === `메시지 ${number}`) return event.seq;
      after = nextAfter;
    }
  }

  /** Records the requests for events of the thread, as their queries. */
  function pagesOf(page: Page): URLSearchParams[] {
    const asked: URLSearchParams[] = [];
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.pathname.endsWith('/work-sessions/ws_flood') && url.searchParams.has('limit'))
        asked.push(url.searchParams);
    });
    return asked;
  }

  test('opens at its end, and older pages come while it is scrolled up', async ({ page }) => {
    const asked = pagesOf(page);
    await visit(page, server.url(thread));
    await expect(message(page, count - 1)).toBeInViewport();
    expect(asked.map((query) => query.get('before'))).toEqual([null]);
    expect(asked[0]!.get('thread')).toBe('conv:flood');
    await expect(page.getByText('메시지 500개 이상')).toBeVisible();

    // The place is kept: what is at the top of the box is there as well after rows came in front of it.
    const log = page.getByRole('log');
    await log.focus();
    await log.evaluate((box) => box.scrollTo({ top: box.clientHeight * 1.5 }));
    const top = () =>
      log.evaluate((box) => {
        const at = box.getBoundingClientRect();
        const row = [...box.querySelectorAll('article')].find((item) => item.getBoundingClientRect().top > at.top)!;
        return {
          id: row.id,
          y: Math.round(row.getBoundingClientRect().top),
          inside: row.getBoundingClientRect().top < at.bottom,
        };
      });
    await expect.poll(async () => (await top()).inside).toBe(true); // the rows of this place are drawn
    const before = await top();
    await expect.poll(() => asked.length).toBe(2);
    await expect.poll(() => log.evaluate((box) => box.scrollTop > box.clientHeight * 4)).toBe(true);
    const after = await top();
    expect(after.id).toBe(before.id);
    expect(Math.abs(after.y - before.y)).toBeLessThan(4);

    // With the keyboard to the very first message; each page is asked for once.
    await expect
      .poll(
        async () => {
          await log.press('Home');
          return message(page, 0).isVisible();
        },
        { timeout: 30_000 },
      )
      .toBe(true);
    const positions = asked.map((query) => query.get('before'));
    expect(new Set(positions).size).toBe(positions.length);
    expect(positions).toHaveLength(Math.ceil(count / 500));
    await expect(page.getByText(`메시지 ${count.toLocaleString('ko')}개`)).toBeVisible();
    const first = message(page, 0).locator('xpath=ancestor::*[@role="listitem"]');
    await expect(first).toHaveAttribute('aria-setsize', /^\d+$/);
    expect(await violations(page)).toEqual([]);
  });

  test('opens at an event deep in it, and leads from there to both ends', async ({ page }) => {
    const seq = await seqOf(700);
    const asked = pagesOf(page);
    await visit(page, `${server.url(thread)}#e${seq}`);
    await expect(message(page, 700)).toBeInViewport();
    await expect(page.getByRole('complementary').getByRole('heading', { name: `이벤트 seq ${seq}` })).toBeVisible();
    expect(asked.some((query) => query.get('before') === String(seq + 1))).toBe(true);
    // Every message around it is there once, in order.
    const around = await page.getByRole('article').allInnerTexts();
    const numbers = around.map((text) => Number(/메시지 (\d+)\s*$/.exec(text)?.[1]));
    expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));

    // Newer ones come at the bottom, without a jump to the end.
    const log = page.getByRole('log');
    // While its rows are measured the page goes to the event again: a program that scrolls is no reader who does.
    await expect
      .poll(async () => {
        await log.evaluate((box) => box.scrollTo({ top: box.scrollHeight }));
        return asked.some((query) => Number(query.get('after')) > seq);
      })
      .toBe(true);
    await expect(message(page, count - 1)).not.toBeInViewport();
    await page.getByRole('button', { name: '맨 아래로' }).click();
    await expect(message(page, count - 1)).toBeInViewport();

    // And from the end back to the event, in the page that is open.
    await move(page, `${server.url(thread)}#e${await seqOf(20)}`);
    await expect(message(page, 20)).toBeInViewport();
  });

  test('takes new events at its end, and counts them elsewhere', async ({ page, folder }) => {
    await visit(page, server.url(thread));
    await expect(message(page, count - 1)).toBeInViewport();
    await appendFile(logFile(folder), textOf(conversation(count, 3)));
    await expect(message(page, count + 2)).toBeInViewport();
    const log = page.getByRole('log');
    await log.hover();
    await page.mouse.wheel(0, -6000);
    await expect(message(page, count + 2)).not.toBeInViewport();
    await expect(page.getByRole('button', { name: '맨 아래로' })).toBeVisible();
    await appendFile(logFile(folder), textOf(conversation(count + 3, 2)));
    await page.getByRole('button', { name: '새 메시지 2개' }).click();
    await expect(message(page, count + 4)).toBeInViewport();
  });

  test('keeps its last messages only while its end is followed, and stays at the end', async ({ page, folder }) => {
    // A search reads all of it.
    await visit(page, server.url(`${thread}&find=zzz`));
    await expect(page.getByText('메시지 2,600개', { exact: true })).toBeVisible({ timeout: 30_000 });
    await page.keyboard.press('Escape');
    await page.getByRole('log').evaluate((box) => box.scrollTo({ top: box.scrollHeight }));
    await expect(message(page, count - 1)).toBeInViewport();
    // Fewer than a page: the events join the newest page however late it is read.
    let last = count - 1;
    for (const more of [140, 140, 140, 1]) {
      await appendFile(logFile(folder), textOf(conversation(last + 1, more)));
      last += more;
      await expect(message(page, last)).toBeInViewport({ timeout: 20_000 });
    }
    const shown = async () => {
      const text = await page.getByText(/메시지 [\d,]+개 이상/).textContent();
      return Number(/[\d,]+/.exec(text!)![0].replaceAll(',', ''));
    };
    await expect.poll(shown).toBeLessThan(2500);
    await expect(message(page, last)).toBeInViewport();
    // What has gone can be read again.
    const asked = pagesOf(page);
    await page.getByRole('log').focus();
    await page.keyboard.press('Home');
    await expect.poll(() => asked.filter((query) => query.has('before')).length).toBeGreaterThan(0);
  });

  test('is searched as a whole', async ({ page }) => {
    await visit(page, server.url(thread));
    await page.getByRole('log').press('Control+f');
    const field = page.getByRole('searchbox', { name: '이 대화에서 찾기' });
    await field.fill('메시지 77');
    // 77, and 770 to 779.
    await expect(page.getByText('11개 중')).toBeVisible({ timeout: 20_000 });
    for (let step = 0; step < 11; step++) {
      if (await message(page, 77).isVisible()) break;
      await field.press('Enter');
      await page.waitForFunction(() => document.querySelector('.found') !== null);
    }
    await expect(message(page, 77)).toBeInViewport();
  });

  test('has its events in pages too, and its place on Back', async ({ page }) => {
    await visit(page, server.url(`${thread}&tab=events`));
    const list = page.getByRole('list', { name: '이벤트' });
    await expect(list.getByRole('button', { name: new RegExp(`메시지 ${count - 1}$`) })).toBeInViewport();
    expect(await list.getByRole('listitem').count()).toBeLessThan(200);
    const box = list.locator('[tabindex="0"]').first();
    await expect
      .poll(
        async () => {
          await box.evaluate((element) => element.scrollTo({ top: 0 }));
          return list.getByRole('button', { name: /메시지 0$/ }).isVisible();
        },
        { timeout: 30_000 },
      )
      .toBe(true);

    await visit(page, server.url(thread));
    await expect(message(page, count - 1)).toBeInViewport();
    const log = page.getByRole('log');
    await expect
      .poll(
        async () => {
          await log.evaluate((element) => element.scrollTo({ top: 0 }));
          return (await page.getByRole('article').first().innerText()).match(/메시지 (\d+)\s*$/)?.[1];
        },
        { timeout: 30_000 },
      )
      .toBe('0');
    await log.evaluate((element) => element.scrollTo({ top: 3000 }));
    const placed = () => page.evaluate(() => Number(sessionStorage.getItem('place ws_flood conv:flood')));
    await expect.poll(async () => Math.abs((await placed()) - 42)).toBeLessThan(15);
    const place = await placed();
    await page.getByRole('link', { name: '에이전트', exact: true }).first().click();
    await shown(page);
    await page.goBack();
    await expect(page.locator(`#e${place}`)).toBeInViewport();
  });
});
