import { expect, move, shown, test, visit } from './stage/test.ts';
import { enc, everySession } from './stage/tour.ts';

test('T-URL every address survives a reload, Back and Forward, with parameters that are unknown', async ({
  page,
  hub,
}) => {
  test.setTimeout(120_000);
  const sessions = await everySession(hub);
  const [first] = sessions.filter(({ threads }) => threads.length > 1);
  const { tasks } = await hub.api('tasks?limit=5');
  const paths = [
    '', 'c', 'c?cat=all', 'c?outcome=blocked', 'c?status=ARCHIVED&agent=eden', 'c?q=webhook', 'c?cat=all&order=category',
    `c/${enc(first!.workSessionId)}`, `c/${enc(first!.workSessionId)}?tab=events`, `c/${enc(first!.workSessionId)}/${enc(first!.threads[0]!.id)}`,
    ...sessions.slice(0, 20).map(({ workSessionId, threads }) => `c/${enc(workSessionId)}${threads[0] ? `/${enc(threads[0].id)}` : ''}`),
    'tasks', 'tasks?view=list', 'tasks?view=deps', 'tasks?agent=eden', `tasks/${enc(tasks[0].id)}?agent=${enc(tasks[0].agentId)}`,
    'agents', 'agents?sort=name', 'agents/eden', 'agents/eden?tab=queue', 'agents/eden?tab=continuation', 'agents/eden?tab=tasks',
    'agents/eden?tab=plans', 'agents/eden?tab=sessions', 'agents/eden?tab=policy', 'agents/eden?tab=events', 'agents/seum', 'agents/ruda?tab=queue',
    'search', 'search?q=webhook', 'search?q=배포&sort=newest', 'health', '?as_of=300', 'c?as_of=300', `c/${enc(first!.workSessionId)}?as_of=480`,
    'tasks?as_of=300', 'tasks?view=deps&as_of=300', 'agents?as_of=300', 'agents/eden?as_of=300', 'search?q=webhook&as_of=300', 'health?as_of=300',
    'why', 'why?tab=threads', 'why?agent=eden&mode=observer', 'why?as_of=300', `flow/${enc(first!.workSessionId)}`,
    `flow/${enc(first!.workSessionId)}?view=table&fold=off`, `flow/${enc(first!.workSessionId)}?as_of=480`,
  ]; // prettier-ignore
  expect(paths.length).toBeGreaterThanOrEqual(60);
  const withUnknown = paths.map((path, index) =>
    index % 3 === 0 ? `${path}${path.includes('?') ? '&' : '?'}zz=1%202&zz=3` : path,
  );
  await visit(page, hub.url());
  const titles: string[] = [];
  for (const [index, path] of withUnknown.entries()) {
    if (index % 6 === 0) {
      await visit(page, hub.url(path));
      await page.reload();
      await shown(page);
    } else await move(page, hub.url(path));
    expect(new URL(page.url()).search, path).toBe(new URL(hub.url(path)).search);
    expect(new URL(page.url()).pathname, path).toBe(new URL(hub.url(path)).pathname);
    titles.push((await page.locator('main h1').first().textContent()) ?? '');
  }
  for (let index = withUnknown.length - 2; index >= withUnknown.length - 8; index--) {
    await page.goBack();
    await shown(page);
    await expect(page).toHaveURL(hub.url(withUnknown[index]));
    await expect(page.locator('main h1').first()).toHaveText(titles[index]!);
  }
  for (let index = withUnknown.length - 7; index < withUnknown.length; index++) {
    await page.goForward();
    await shown(page);
    await expect(page).toHaveURL(hub.url(withUnknown[index]));
  }
});

test('T-URL filters replace, opening pushes, and Back restores list and focus place', async ({ page, hub }) => {
  await visit(page, hub.url('c?cat=all&zz=keep'));
  const before = await page.evaluate(() => history.length);
  await page.getByLabel('결과').selectOption('blocked');
  await expect(page).toHaveURL(/outcome=blocked/);
  await expect(page).toHaveURL(/zz=keep/);
  expect(await page.evaluate(() => history.length)).toBe(before);
  await page.locator('main a[data-row]').first().click();
  await expect(page).toHaveURL(/\/c\/ws_/);
  expect(await page.evaluate(() => history.length)).toBe(before + 1);
  await page.goBack();
  await expect(page).toHaveURL(/\/ui\/c\?/);
  await expect(page).toHaveURL(/outcome=blocked/);
});

test('T-URL an event of the past is linked with its point in time', async ({ page, hub }) => {
  await visit(page, hub.url('c?as_of=400'));
  await expect(page.locator('.frame.past')).toHaveCount(1);
  await page.getByRole('link', { name: '에이전트', exact: true }).first().click();
  await expect(page).toHaveURL(/\/agents\?as_of=400$/);
  await page.keyboard.press('Escape');
  await expect(page).not.toHaveURL(/as_of/);
});
