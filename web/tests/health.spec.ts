import { test } from './stage/team.ts';
import { expect, visit } from './stage/test.ts';

test('T-HEALTH counts of the log lead to the events that they count', async ({ page, hub }) => {
  const { badLines } = await hub.api('status');
  expect(badLines).toBeGreaterThan(0);
  await visit(page, hub.url('health'));
  const fact = (name: string) => page.locator('dt', { hasText: name }).locator('xpath=following-sibling::dd[1]');
  await fact('읽지 못한 줄')
    .getByRole('link', { name: String(badLines) })
    .click();
  await expect(page).toHaveURL(hub.url('log?type=import.rejected'));
  await expect(page.locator('main [role=log] [data-seq]')).toHaveCount(badLines);
  await page.goBack();
  await fact('24시간 동안').getByRole('link').first().click();
  await expect(page).toHaveURL(hub.url('log'));
});

test('T-HEALTH counts of the queue lead to the work that they count', async ({ page, working }) => {
  const team = await working();
  await team.blocked('막힌 일');
  void team.call('eden', 'sessions_send', { agentId: 'seum', message: '부탁', timeoutSeconds: 0 }).catch(() => {});
  const lanes = async () => (await team.server.api('status')).work.lanes;
  await expect
    .poll(async () => {
      const all: { dead: number; running: number }[] = await lanes();
      return [all.some(({ dead }) => dead > 0), all.some(({ running }) => running > 0)];
    })
    .toEqual([true, true]);
  await visit(page, team.server.url('health'));
  const row = (lane: { lane: string; owner: string }) =>
    page.locator(`main tr:has(a[href*="agents/${lane.owner}"])`).filter({ hasText: lane.lane });
  const all: { lane: string; owner: string; dead: number; running: number; waiting: number }[] = await lanes();
  const given = all.find(({ dead }) => dead > 0)!;
  await row(given)
    .getByRole('link', { name: String(given.dead), exact: true })
    .last()
    .click();
  await expect(page).toHaveURL(team.server.url('inbox?tab=dead'));
  await expect(page.locator('main ul.card > li')).toHaveCount(given.dead);
  await page.goBack();
  const busy = all.find(({ running }) => running > 0)!;
  await row(busy)
    .getByRole('link', { name: String(busy.running), exact: true })
    .last()
    .click();
  await expect(page).toHaveURL(team.server.url(`agents/${busy.owner}?tab=queue`));
  await expect(page.locator('main')).toContainText('하는 중');
});

test('T-HEALTH doubts lead to the events that they count, and internal records are told apart', async ({
  page,
  hub,
}) => {
  const { doubts, events } = await hub.api('status');
  expect(doubts.guessedRoles).toBeGreaterThan(0);
  for (const [name, filter, count] of [
    ['역할을 짐작함', 'guessed_role', doubts.guessedRoles],
    ['범주가 기본값', 'fallback_category', doubts.fallbackCategory],
  ] as const) {
    await visit(page, hub.url('health'));
    const fact = page.locator('dt', { hasText: name }).locator('xpath=following-sibling::dd[1]');
    await fact.getByRole('link', { name: count.toLocaleString('ko-KR'), exact: true }).click();
    await expect(page).toHaveURL(hub.url(`log?doubt=${filter}`));
    const found = await hub.api(`events?doubt=${filter}&limit=1000`);
    expect(found.totalMatched).toBe(count);
    await expect(page.locator(`main [data-seq="${found.events.at(-1).seq}"]`)).toBeInViewport();
    await expect(page.getByRole('button', { name: /^조건 '/ })).toHaveCount(1);
  }
  // Another condition takes the place of the doubt, which the API does not combine with it.
  await page.getByRole('button', { name: '문제만' }).click();
  await expect(page).toHaveURL(hub.url('log?problems=1'));
  await visit(page, hub.url('health'));
  await expect(page.locator('main')).toContainText(
    `내부 기록 ${events.internalLastDay.toLocaleString('ko-KR')}개는 따로`,
  );
  await visit(page, hub.url());
  await expect(page.locator('main')).toContainText(
    `내부 기록 ${events.internalLastDay.toLocaleString('ko-KR')}개는 빼고`,
  );
});
