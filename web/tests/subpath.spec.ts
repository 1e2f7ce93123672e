import { PrefixProxy } from './stage/proxy.ts';
import { fixedTime } from './stage/server.ts';
import { expect, shown, test as base, visit } from './stage/test.ts';

const test = base.extend<{ below: PrefixProxy }>({
  below: async ({ hub }, use) => {
    const proxy = await new PrefixProxy('/team/a', Number(new URL(hub.origin).port)).start();
    await use(proxy);
    await proxy.stop();
  },
  context: async ({ below: _below, context }, use) => use(context),
});

for (const path of ['', 'c', 'tasks', 'agents', 'search?q=배포', 'health']) {
  test(`T-SUB ${path || 'now'} behind a proxy that strips a prefix`, async ({ page, below }) => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await visit(page, below.root + path);
    await expect(page.getByRole('button', { name: /실시간/ })).toBeVisible();
    expect(asked.filter((url) => !url.startsWith(below.root))).toEqual([]);
  });
}

test('T-SUB a deep link, a link of the page, Back and reload behind the proxy', async ({ page, hub, below }) => {
  const { sessions } = await hub.api('work-sessions?limit=1');
  const url = `${below.root}c/${sessions[0].workSessionId}`;
  await visit(page, url);
  expect(page.url()).toBe(url);
  await page.getByRole('link', { name: '에이전트', exact: true }).first().click();
  await expect(page).toHaveURL(`${below.root}agents`);
  await page.goBack();
  await expect(page).toHaveURL(url);
  await page.reload();
  await shown(page);
  await expect(page).toHaveURL(url);
});

test('T-SUB by a name, where browsers give a page less than on the machine itself', async ({ page, serve, faults }) => {
  faults.allow(/^request: (http|ws):\/\/evil\.test:/, /Cross-Origin-Opener-Policy header has been ignored/);
  const server = await serve({
    args: ['--clock', fixedTime, '--allow-host', 'evil.test'],
    env: { TASK_MONITOR_WRITE_TOKEN: 'a-token-of-enough-characters-0123456789' },
  });
  await page.goto(`http://evil.test:${server.port}/ui/agents`);
  await page.getByLabel('토큰').fill('a-token-of-enough-characters-0123456789');
  await page.keyboard.press('Enter');
  await shown(page);
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await expect(page.getByRole('button', { name: /실시간/ })).toBeVisible();
  await page.getByRole('link', { name: '대화', exact: true }).first().click();
  await expect(page).toHaveURL(/\/ui\/c$/);
  await page.locator('main a[data-row]').first().click();
  await expect(page).toHaveURL(/\/ui\/c\/ws/);
  await page.goBack();
  await expect(page).toHaveURL(/\/ui\/c$/);
  await page.keyboard.press('y');
  await expect(page.getByText('링크를 복사했습니다.')).toBeVisible();
  // What was copied is what is pasted.
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').press('Control+v');
  await expect(page.getByRole('dialog').getByRole('combobox')).toHaveValue(page.url());
});

test('T-SUB on IPv6', async ({ page, serve }) => {
  const server = await serve({ host: '[::1]', args: ['--clock', fixedTime] });
  await visit(page, server.url());
  await expect(page.getByRole('button', { name: /실시간/ })).toBeVisible();
});
