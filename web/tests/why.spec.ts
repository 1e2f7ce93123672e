import { playDiscord, type Play } from './stage/discord.ts';
import { devices, Hands } from './stage/hands.ts';
import { expect, show, test, visit } from './stage/test.ts';

interface Routing {
  message: { messageId: string; text: string };
  agents: { agentId: string; mode: string; reason: string; explanation: string }[];
  threadParticipants: { agentId: string }[];
}

// One play serves all tests of this file: they only read.
test.describe.configure({ mode: 'serial' });

let play: Play;
test.beforeAll(async () => {
  test.setTimeout(180_000);
  play = await playDiscord();
});
test.afterAll(() => play?.stop());

for (const device of devices) {
  test(`T-KLM 6 why an agent answered or not: two, by a pasted link (${device})`, async ({ page, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const hands = await Hands.at(page, device);
    await visit(page, play.url());
    await page.evaluate((link) => navigator.clipboard.writeText(link), play.link);
    await hands.palette();
    await hands.press('Control+v');
    await expect(page).toHaveURL(play.url(`why/${play.messageId}`));
    const row = (agent: string) => page.locator(`[data-agent="${agent}"]`);
    await expect(row('seum')).toContainText('처리');
    await expect(row('seum')).toContainText('메시지가 이 에이전트를 부릅니다.');
    await expect(row('seum')).toBeInViewport();
    await expect(row('dajim')).toContainText('관찰');
    await expect(row('dajim')).toBeInViewport();

    expect(hands.cost).toBe(2);

    // A typed link needs one more key.
    await visit(page, play.url());
    await hands.palette();
    await page.keyboard.insertText(play.link);
    await expect(page.getByRole('option').first()).toContainText(play.messageId);
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(play.url(`why/${play.messageId}`));
  });
}

test('T-WHY gives the verdict of the API for each agent, with a sentence in both languages', async ({ page }) => {
  test.setTimeout(120_000);
  const { messages } = await play.api<{ messages: { messageId: string }[] }>('routing?limit=100');
  expect(messages.length).toBeGreaterThan(8);
  for (const { messageId } of messages) {
    const routing = await play.api<Routing>(`routing/${messageId}`);
    await visit(page, play.url(`why/${messageId}`));
    const rows = page.locator('[data-agent]');
    await expect(rows).toHaveCount(routing.agents.length);
    expect(
      await rows.evaluateAll((list) =>
        list.map((row) => [
          row.getAttribute('data-agent'),
          row.getAttribute('data-mode'),
          row.getAttribute('data-reason'),
        ]),
      ),
    ).toEqual(routing.agents.map(({ agentId, mode, reason }) => [agentId, mode, reason]));
  }
  await visit(page, play.url(`why/${play.messageId}`));
  const seum = page.locator('[data-agent="seum"]');
  await expect(seum).toContainText(/답/);
  await expect(seum.getByRole('link', { name: '흐름' })).toHaveAttribute('href', /\/ui\/flow\//);
  const { threadParticipants } = await play.api<Routing>(`routing/${play.messageId}`);
  for (const { agentId } of threadParticipants)
    await expect(page.locator(`a[href$="/agents/${agentId}"]`).first()).toBeVisible();
  await expect(page.getByText('@다짐', { exact: false })).toBeVisible();
  await page.getByRole('button', { name: 'English로 보기' }).click();
  await expect(seum).toContainText('The message mentions it.');
  await expect(page.locator('[data-agent="dajim"]')).toContainText('It does not take part in the thread');
});

test('T-WHY the list is filtered by the URL, and its rows lead to the message', async ({ page }) => {
  await visit(page, play.url('why'));
  const rows = page.locator('main a[data-row]');
  const all = await play.api<{ count: number }>('routing?limit=50');
  await expect(rows).toHaveCount(all.count);
  const mode = page.getByLabel('판정');
  await expect(mode).toBeDisabled();
  await page.getByLabel('에이전트', { exact: true }).selectOption('dajim');
  await expect(page).toHaveURL(/agent=dajim/);
  await mode.selectOption('dropped');
  await expect(page).toHaveURL(/mode=dropped/);
  await expect(page.getByText('이 조건에 맞는 것이 없습니다.')).toBeVisible();
  await mode.selectOption('observer');
  const observed = await play.api<{ count: number }>('routing?agent=dajim&mode=observer&limit=50');
  await expect(rows).toHaveCount(observed.count);
  await page.reload();
  await expect(rows).toHaveCount(observed.count);
  await rows.first().click();
  await expect(page).toHaveURL(/\/ui\/why\/\d+$/);
  await page.goBack();
  await expect(page).toHaveURL(/agent=dajim&mode=observer/);
});

test('T-WHY shows threads, what was observed and what was posted', async ({ page }) => {
  await visit(page, play.url('why?tab=threads'));
  await expect(page.locator('main')).toContainText('[협업] 루다 → 이든');
  await expect(page.locator('main .who').filter({ hasText: '세움' }).first()).toBeVisible();
  await page.getByRole('tab', { name: '관찰한 것' }).click();
  await expect(page).toHaveURL(/tab=observed/);
  await expect(page.locator('main a[data-row]').first()).toBeVisible();
  await page.getByRole('tab', { name: '올린 글' }).click();
  await expect(page.locator('main')).toContainText('협업 요청');
  const { posts } = await play.api<{ posts: unknown[] }>('discord/posts?limit=50');
  await expect(page.locator('main a[data-row]')).toHaveCount(posts.length);
});

test('T-WHY takes a link or an id, and refuses what is neither', async ({ page }) => {
  await visit(page, play.url('why'));
  const field = page.getByLabel('메시지의 링크나 id');
  await field.fill('어제 그 메시지');
  await field.press('Enter');
  await expect(page.getByRole('alert')).toContainText('링크나 id가 아닙니다');
  await field.fill(play.messageId);
  await field.press('Enter');
  await expect(page).toHaveURL(new RegExp(`/why/${play.messageId}$`));
  await visit(page, play.url(`go/${encodeURIComponent(play.link)}`));
  await expect(page).toHaveURL(new RegExp(`/why/${play.messageId}$`));
});

test('T-WHY names the channel, narrows to one, and leads into it', async ({ page }) => {
  await visit(page, play.url('why'));
  await expect(page.locator('main .channel').first()).toHaveText('Discord');
  await page.getByLabel('채널', { exact: true }).selectOption('slack');
  await expect(page).toHaveURL(/channel=slack/);
  await expect(page.locator('main a[data-row]')).toHaveCount(0);
  await page.getByLabel('채널', { exact: true }).selectOption('discord');
  await expect(page.locator('main a[data-row]').first()).toBeVisible();
  await visit(page, play.url(`why/${play.messageId}`));
  await expect(page.getByRole('link', { name: 'Discord에서 보기' })).toHaveAttribute('href', play.link);
});

test('T-WHY takes links of Telegram and Slack', async ({ page, faults }) => {
  faults.allow(/Failed to load resource/);
  await visit(page, play.url('why'));
  const field = page.getByLabel('메시지의 링크나 id');
  await field.fill('https://t.me/c/1234567890/7/55');
  await field.press('Enter');
  await expect(page).toHaveURL(/\/why\/telegram(:|%3A)-1001234567890(:|%3A)55$/);
  await field.fill('https://lab.slack.com/archives/C0AB/p1700000000000100');
  await field.press('Enter');
  await expect(page).toHaveURL(/\/why\/slack(:|%3A)c0ab(:|%3A)1700000000.000100$/);
  await expect(page.locator('main')).toContainText('이 메시지에 대한 판정이 없습니다.');
});

test('T-WHY settings list the bots of each channel', async ({ page }) => {
  await visit(page, play.url('settings'));
  const bots = page.locator('main [data-account]');
  await expect(bots.first()).toBeVisible();
  await expect(page.locator('main')).toContainText('Telegram');
  await expect(page.getByRole('link', { name: '이 채널의 메시지와 판정' })).toHaveAttribute(
    'href',
    /why\?channel=discord$/,
  );
});

test('T-WHY tells of a message that no bot has seen', async ({ page, faults }) => {
  faults.allow(/Failed to load resource/);
  await visit(page, play.url('why/1465892000000000001'));
  await expect(page.locator('main')).toContainText('이 메시지에 대한 판정이 없습니다.');
});

test('T-WHY says that there is no channel', async ({ page, hub }) => {
  for (const tab of ['', '?tab=threads', '?tab=observed', '?tab=posts']) {
    await show(page, hub.url(`why${tab}`));
    await expect(page.locator('main')).toContainText('연결된 채널이 없습니다.');
  }
});

test('T-WHY w opens why for the message that an event is about', async ({ page }) => {
  const { events } = await play.api<{ events: { seq: number; data: { messageId: string } }[] }>(
    'events?scope=all&type=discord.inbound.handled&limit=1',
  );
  await visit(page, play.url(`log?scope=all&at=${events[0]!.seq}`));
  const link = page.getByRole('complementary', { name: '이벤트' }).getByRole('link', { name: /^왜/ });
  await expect(link).toHaveAttribute('href', new RegExp(`why/${events[0]!.data.messageId}`));
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('w');
  await expect(page).toHaveURL(play.url(`why/${events[0]!.data.messageId}`));
});
