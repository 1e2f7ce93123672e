import { expect, shown, test, visit } from './stage/test.ts';

const pages = ['', 'c', 'tasks', 'agents', 'search', 'health'];

for (const path of pages) {
  test(`T-SMOKE ${path || 'now'} opens without a fault`, async ({ page, hub }) => {
    await visit(page, hub.url(path));
    await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1);
    await expect(page).toHaveTitle(/ · Task-Hub$/);
    await expect(page.locator('html')).toHaveAttribute('lang', 'ko');
  });
}

test('T-SMOKE the server address leads a browser to the page', async ({ page, hub }) => {
  await page.goto(hub.origin);
  await shown(page);
  expect(page.url()).toBe(hub.url());
});

test('T-SMOKE the stage notices what no page may show', async ({ page, hub, faults }) => {
  await visit(page, hub.url());
  const put = (text: string) => page.evaluate((text) => document.querySelector('h1')!.append(text), text);
  for (const text of ['[outcome] blocked', '<@146589>', '\\u2192', 'undefined', 'NaN', '[object Object]']) {
    await put(text);
    await expect.poll(() => faults.list.some((fault) => fault.includes(text)), { message: text }).toBe(true);
  }
  await page.evaluate(() => void Promise.reject(new Error('unhandled')));
  await expect.poll(() => faults.list.some((fault) => fault.includes('unhandled'))).toBe(true);
  await page.evaluate(() => {
    const image = document.createElement('img');
    image.src = 'http://elsewhere.test/x.png';
    document.body.append(image);
  });
  await expect.poll(() => faults.list.some((fault) => fault.startsWith('console: policy: img-src'))).toBe(true);
  faults.allow(/./s);
});

test('T-SMOKE the work of sub-agents for a task is said in the language of the page', async ({ page, hub }) => {
  const { task } = await hub.api('tasks/task_aa11');
  expect(task.delegations).toMatchObject([{ delegationId: 'd1', status: 'running' }]);
  await visit(page, hub.url('tasks/task_aa11'));
  const section = page.locator('main section').filter({ has: page.getByRole('heading', { name: '맡긴 일' }) });
  await expect(section).toContainText('실행 중');
  await expect(section).not.toContainText(/delegationId|status|running/);
});
