import { composer, withGateway } from './stage/chat.ts';
import { type Device, devices, Hands } from './stage/hands.ts';
import { copySample } from './stage/server.ts';
import { expect, type Page, test as base, visit } from './stage/test.ts';

const test = base.extend<{ device: Device; hands: Hands }>({
  device: ['laptop', { option: true }],
  hands: async ({ page, hub, device }, use) => {
    const hands = await Hands.at(page, device);
    await visit(page, hub.url());
    await use(hands);
  },
});

/** The element can be read without scrolling. */
async function readable(page: Page, text: string | RegExp, within = 'body') {
  const found = page.locator(within).getByText(text).first();
  await expect(found).toBeVisible();
  await expect(found).toBeInViewport();
}

for (const device of devices) {
  test.describe(() => {
    test.use({ device });
    test(`T-KLM 1 who is stuck, since when, why, what next: no click (${device})`, async ({ page, hub, hands }) => {
      const { problems, total } = await hub.api('problems');
      expect(total).toBeGreaterThan(0);
      const rows = page.locator('main li').filter({ has: page.locator('a[data-row]') });
      const first = rows.first();
      await expect(first).toBeInViewport();
      const { fields, agentName, title } = problems[0];
      await expect(first).toContainText(fields.fromName ?? agentName);
      await expect(first).toContainText(title ?? '');
      await expect(first).toContainText(/막힘|답 없음|포기|문제/);
      await expect(first.locator('time').first()).toContainText(/분|시간|일/);
      await expect(first).toContainText('컨텍스트가 너무 깁니다');
      await expect(first.getByRole('link').first()).toHaveAttribute('href', /c\/|tasks\/|agents\/|health/);
      for (const [name, path] of [
        ['대화', /\/c\//],
        ['흐름', /\/flow\//],
      ] as const) {
        await expect(first.getByRole('link', { name, exact: true })).toBeInViewport();
        await expect(first.getByRole('link', { name, exact: true })).toHaveAttribute('href', path);
      }
      await expect(page.locator('nav :is(.badge, b):visible').first()).toHaveText(String(total));
      expect(hands.cost).toBe(0);
    });

    test(`T-KLM 2 what two agents said to each other: two clicks, or the palette (${device})`, async ({
      page,
      hub,
      hands,
    }) => {
      const { problems } = await hub.api('problems');
      const { ws, thread } = problems[0].refs;
      // By clicks: the problem's row leads to the conversation.
      await hands.click(page.locator('main a[data-row]').first());
      await expect(page).toHaveURL(new RegExp(`c/${ws}`));
      const messages = page.locator('article.message');
      await expect(messages.first()).toBeVisible();
      const { session } = await hub.api(`work-sessions/${encodeURIComponent(ws)}`);
      const said = session.threads
        .find(({ id }: { id: string }) => id === thread)
        .events.find(({ type }: { type: string }) => type === 'a2a.send');
      await readable(
        page,
        said.displayText
          .split('\n')[0]
          .slice(0, 12)
          .replace(/[*_`#]/g, ''),
        'main',
      );
      expect(hands.cost).toBeLessThanOrEqual(2);

      // By names.
      await visit(page, hub.url());
      hands.cost = 0;
      await hands.palette();
      await hands.type('이든 세움');
      await expect(
        page
          .getByRole('option')
          .filter({ hasText: /이든.*세움|세움.*이든/ })
          .first(),
      ).toBeVisible();
      await hands.press('Enter');
      await expect(page).toHaveURL(/agent=/);
      await expect(page.locator('main a[data-row]').first()).toBeVisible();
      await expect(page.locator('main a[data-row]').first()).toContainText(/이든|세움/);
      expect(hands.cost).toBeLessThanOrEqual(3);
    });

    test(`T-KLM 7 is it alive, and is my data safe: no click, one for reasons (${device})`, async ({ page, hands }) => {
      await expect(page.getByRole('button', { name: /실시간/ })).toBeInViewport();
      await hands.open('상태', 'h');
      await expect(page).toHaveURL(/\/ui\/health/);
      await readable(page, /정상|주의|문제/, 'main');
      await readable(page, /백업/, 'main');
      expect(hands.cost).toBe(1 + hands.extra);
    });

    test(`T-KLM 8 tell an agent something: m, the words, Enter (${device})`, async ({ page, serve }) => {
      const server = await serve({ args: withGateway });
      const hands = await Hands.at(page, device);
      await visit(page, server.url());
      const first = page.locator('main a.tell').first();
      const agent = await first.getAttribute('data-agent');
      if (hands.phone) await hands.click(first);
      else await hands.press('m');
      await expect(page).toHaveURL(new RegExp(`/ui/chat/${agent}$`));
      await expect(composer(page)).toBeFocused();
      await hands.type('무엇을 기다리고 있나요?');
      await hands.press('Enter');
      await readable(page, '무엇을 기다리고 있나요?', 'main');
      expect(hands.cost).toBe(3);
      await expect(page.locator('article.bubble').last()).not.toHaveClass(/own/);
    });

    test(`T-KLM 9 what an agent is doing, what waits for it, what comes next: two (${device})`, async ({
      page,
      hub,
      hands,
    }) => {
      await hands.open('에이전트', 'a');
      await expect(page).toHaveURL(/\/ui\/agents$/);
      await expect(page.locator('main a[data-row]').first()).toBeVisible();
      await hands.click(page.locator('main a[data-row]').filter({ hasText: '이든' }).first());
      await expect(page).toHaveURL(/\/ui\/agents\/eden/);
      const { agents } = await hub.api('agents');
      const eden = agents.find(({ id }: { id: string }) => id === 'eden');
      await expect(page.getByRole('heading', { level: 1, name: '이든' })).toBeInViewport();
      if (eden.currentTask?.title) await readable(page, eden.currentTask.title, 'main');
      await readable(page, /이어가기|다음/, 'main');
      await readable(page, /줄/, 'main');
      expect(hands.cost).toBeLessThanOrEqual(2 + hands.extra);
    });

    test(`T-KLM 10 which tasks are where, and which wait for which: one (${device})`, async ({
      page,
      serve,
      folder,
    }) => {
      // The agents of the running sample have finished most tasks; here nothing has happened yet.
      await copySample(folder);
      const hub = await serve({ home: folder, args: ['--follow', '--clock', '2026-02-20T12:00:00Z'] });
      const hands = await Hands.at(page, device);
      await visit(page, hub.url());
      await hands.open('작업', 't');
      await expect(page).toHaveURL(/\/ui\/tasks$/);
      const { tasks } = await hub.api('tasks?open=true&limit=200');
      expect(tasks.length).toBeGreaterThan(3);
      for (const task of tasks.slice(0, 12)) {
        await expect(
          page.locator('main').getByText(task.description.split('\n')[0], { exact: false }).first(),
        ).toBeVisible();
      }
      await readable(page, '백로그', 'main');
      expect(hands.cost).toBe(1 + hands.extra);
    });

    test(`T-KLM 11 find a word: one key and the words (${device})`, async ({ page, hands }) => {
      if (hands.phone) await hands.open('검색', '/');
      else await hands.press('/');
      await expect(page).toHaveURL(/\/ui\/search/);
      await expect(page.getByRole('searchbox')).toBeFocused();
      await hands.type('webhook');
      await expect(page.locator('main mark').first()).toBeVisible();
      await expect(page.locator('main mark').first()).toBeInViewport();
      expect(hands.cost).toBeLessThanOrEqual(3);
    });
  });
}
