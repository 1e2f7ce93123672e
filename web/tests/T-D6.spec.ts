import { expect, shown, test, visit } from './stage/test.ts';

test('T-D6 conversations can be searched and filtered, and the URL says how', async ({ page, hub }) => {
  await visit(page, hub.url('c?cat=all'));
  const rows = page.locator('main a[data-row]:not([data-row*=" "])');
  const all = await rows.count();
  expect(all).toBeGreaterThan(20);

  await page.getByLabel('결과').selectOption('blocked');
  await expect(page).toHaveURL(/outcome=blocked/);
  const { totalMatched } = await hub.api(
    'work-sessions?status=ACTIVE,QUIET,ARCHIVED&role=conversation.main&outcome=blocked&limit=1',
  );
  await expect(rows).toHaveCount(totalMatched);
  for (const text of await rows.allTextContents()) expect(text).toContain('막힘');

  await page.reload();
  await shown(page);
  await expect(rows).toHaveCount(totalMatched);
  await page.getByLabel('결과').selectOption('');
  await expect(page).not.toHaveURL(/outcome/);
  await expect(rows).toHaveCount(all);

  await page.getByRole('searchbox').first().fill('webhook');
  await expect(page).toHaveURL(/q=webhook/);
  await expect(rows.first()).toContainText(/webhook/i);
  expect(await rows.count()).toBeLessThan(all);
});

test('T-D6 a search that finds nothing says which filter to take away', async ({ page, hub }) => {
  await visit(page, hub.url('c?cat=all&agent=eden&outcome=no_reply&q=zzzzqqq'));
  await expect(page.locator('main a[data-row]')).toHaveCount(0);
  await page.getByRole('button', { name: 'zzzzqqq' }).click();
  await expect(page).not.toHaveURL(/zzzz/);
});

test('T-D6 search over all events and within a conversation', async ({ page, hub }) => {
  await visit(page, hub.url());
  await page.keyboard.press('/');
  await expect(page).toHaveURL(/\/ui\/search|\/ui\/c/);
  await visit(page, hub.url('search?q=webhook'));
  await expect(page.locator('main mark').first()).toBeVisible();

  // In a conversation: all messages with the words are counted, and the keys go from one to the next.
  const { sessions } = await hub.api('work-sessions/search?q=webhook&limit=1');
  const ws = encodeURIComponent(sessions[0].workSessionId);
  await visit(page, hub.url(`c/${ws}?process=1&cat=all`));
  await page.getByRole('button', { name: '이 대화에서 찾기' }).click();
  await page.keyboard.type('webhook');
  await expect(page).toHaveURL(/find=webhook/);
  await expect(page.locator('.finder .count')).toHaveText(/^\d+개 중 \d+번째$/);
  const found = page.locator('main .row.found');
  await expect(found).toHaveCount(1);
  await expect(found).toContainText(/webhook/i);
  await expect(found).toBeInViewport();
  await page.keyboard.press('Escape');
  await expect(page).not.toHaveURL(/find=/);
});
