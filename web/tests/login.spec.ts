import { expect, shown, test } from './stage/test.ts';

const write = 'wr1te-0123456789abcdef0123456789';

test('T-LOGIN a link that is not encoded well shows the login, and nothing connects before it', async ({
  page,
  folder,
  serve,
  faults,
}) => {
  faults.allow(/status of 401/, /\/ui\/ws\S* failed: HTTP Authentication failed/); // once, when the session has ended
  const server = await serve({ home: folder, env: { TASK_MONITOR_WRITE_TOKEN: write } });
  const asked: string[] = [];
  page.on('websocket', (socket) => asked.push(socket.url()));
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(`${server.url()}#code=%`);
  const token = page.getByLabel('토큰');
  await expect(token).toBeVisible();
  expect(page.url()).not.toContain('code');
  expect(asked.filter((url) => /\/ui\/(ws|api)/.test(url))).toEqual([]);

  await token.fill(write);
  await page.getByRole('button', { name: '로그인' }).click();
  await expect(token).toHaveCount(0);
  await shown(page);
  await expect.poll(() => asked.some((url) => url.includes('/ui/ws'))).toBe(true);

  // The session ends elsewhere: the page asks for a login instead of connecting again and again.
  const left = await page.evaluate(async () => {
    const headers = { 'Content-Type': 'application/json', 'X-Openclawd-Ui': '1' };
    return (await fetch('session', { method: 'DELETE', headers })).status;
  });
  expect(left).toBe(204);
  await expect(token).toBeVisible();
  expect(asked.filter((url) => url.includes('/ui/ws')).length, 'attempts to connect').toBeLessThanOrEqual(2);
  asked.length = 0;
  await token.fill(write);
  await page.getByRole('button', { name: '로그인' }).click();
  await expect(token).toHaveCount(0);
  await expect.poll(() => asked.some((url) => url.includes('/ui/ws'))).toBe(true);
});

test('T-LOGIN logging out ends the session and forgets what was opened and searched', async ({
  page,
  folder,
  serve,
  faults,
}) => {
  faults.allow(/status of 401/, /\/ui\/ws\S* failed/);
  const server = await serve({ home: folder, env: { TASK_MONITOR_WRITE_TOKEN: write } });
  await page.goto(server.url());
  const token = page.getByLabel('토큰');
  await token.fill(write);
  await page.keyboard.press('Enter');
  await expect(token).toHaveCount(0);
  await shown(page);
  await page.evaluate(() => {
    localStorage.setItem('recent', '[{"href":"c/ws_1","title":"비밀"}]');
    localStorage.setItem('searches', '["비밀"]');
  });
  await page.getByRole('button', { name: '로그아웃' }).click();
  await expect(token).toBeVisible();
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('비밀');
  expect((await page.request.get(server.url('api/tasks'))).status()).toBe(401);
});
