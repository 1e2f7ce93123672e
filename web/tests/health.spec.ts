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
  await fact('24시간 동안').getByRole('link').click();
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
