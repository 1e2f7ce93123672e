import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { devices, Hands } from './stage/hands.ts';
import { binary, copySample, writeHome, type Server } from './stage/server.ts';
import { expect, show, type Page, shown, test, visit } from './stage/test.ts';

const admin = 'adm1n-0123456789abcdef0123456789';
const marks = { 'Sec-Fetch-Site': 'same-origin', 'X-Openclawd-Ui': '1', 'Content-Type': 'application/json' };

/** A configuration with a misspelt key, a value of another type and a secret. */
async function brokenHome(dir: string) {
  await writeHome(dir, [{ id: 'eden', name: '이든' }]);
  await writeFile(
    join(dir, 'openclaw.json'),
    `{\n  agents: { list: [{ id: 'eden', name: '이든' }] },\n  gatewy: { port: 3 },\n  taskMonitor: { port: 'x' },\n` +
      `  ui: { viewers: [{ name: 'kim', token: 'viewer-secret-0123456789' }] },\n}\n`,
  );
}

for (const device of devices) {
  test(`T-KLM 15 what is wrong in openclaw.json: one click (${device})`, async ({ page, serve, folder }) => {
    const hands = await Hands.at(page, device);
    await brokenHome(folder);
    const server = await serve({ home: folder });
    await visit(page, server.url());
    await hands.open('설정', ',');
    const findings = page.getByRole('region', { name: '설정 파일 검사' });
    const key = findings.getByRole('listitem').filter({ hasText: 'gatewy' });
    await expect(key).toBeInViewport();
    await expect(key).toContainText('3번째 줄, 3번째 글자');
    await expect(key).toContainText('did you mean "gateway"?');
    await expect(findings.getByRole('listitem').filter({ hasText: 'taskMonitor.port' })).toContainText('오류');
    expect(hands.cost).toBe(1 + hands.extra);
  });
}

test('T-SETTINGS findings by line, a fix to copy, and settings with their sources', async ({
  page,
  context,
  serve,
  folder,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await brokenHome(folder);
  const server = await serve({ home: folder });
  await visit(page, server.url('settings'));
  await page.getByRole('link', { name: '서버 설정' }).click();
  await expect(page).toHaveURL(/settings\/config$/);
  await shown(page);
  const finding = page.getByRole('listitem').filter({ hasText: 'gatewy' });
  await finding.getByRole('button', { name: '고칠 곳 복사' }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain('openclaw.json:3:3: gatewy:');
  expect(copied).toContain('did you mean "gateway"?');
  const settings = page.getByRole('region', { name: '쓰이고 있는 설정' });
  await expect(settings.getByRole('row').filter({ hasText: /^api/ })).toContainText('--api');
  await expect(page.locator('body')).not.toContainText('viewer-secret');

  // What was corrected is gone after another check.
  const file = join(folder, 'openclaw.json');
  await writeFile(file, (await readFile(file, 'utf8')).replace("'x'", '0').replace('gatewy', 'gateway'));
  await page.getByRole('button', { name: '다시 검사' }).click();
  await expect(page.getByText('고칠 것이 없습니다.')).toBeVisible();
});

test('T-SETTINGS of this browser are kept, exported and imported', async ({ page, hub, context }, info) => {
  await visit(page, hub.url('settings'));
  await page.getByLabel('시간대').selectOption('UTC');
  await expect(page.getByText(/지금은 .* UTC/)).toBeVisible();
  await page.getByLabel('줄 간격').selectOption('dense');
  await page.getByLabel('밝기').selectOption('dark');
  await page.getByLabel('한 글자 단축키').uncheck();
  await page.getByLabel('결정에 남길 이름').fill('병욱');
  await page.getByLabel('결정에 남길 이름').blur();
  await page.reload();
  await shown(page);
  await expect(page.locator('html')).toHaveAttribute('data-density', 'dense');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await expect(page.getByLabel('시간대')).toHaveValue('UTC');
  await expect(page.getByLabel('결정에 남길 이름')).toHaveValue('병욱');
  await page.getByRole('heading', { name: '설정', level: 1 }).click();
  await page.keyboard.press('g');
  await page.keyboard.press('h');
  await expect(page).toHaveURL(/settings$/);

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: '파일로 내보내기' }).click();
  const file = info.outputPath('settings.json');
  await (await download).saveAs(file);
  const saved = JSON.parse(await readFile(file, 'utf8')) as { values: Record<string, string> };
  expect(saved.values).toMatchObject({ theme: 'dark', zone: 'UTC', keys: 'off', by: '병욱' });

  const other = await context.browser()!.newContext({ locale: 'ko-KR', timezoneId: 'Asia/Seoul' });
  const there = await other.newPage();
  await visit(there, hub.url('settings'));
  const bad = info.outputPath('bad.json');
  await writeFile(bad, '{"values":{"theme":"dark"}}');
  await there.getByLabel('파일에서 가져오기').setInputFiles(bad);
  await expect(there.getByText('아무것도 바꾸지 않았습니다')).toBeVisible();
  await there.getByLabel('파일에서 가져오기').setInputFiles(file);
  await expect(there.locator('html')).toHaveAttribute('data-density', 'dense');
  await expect(there.getByLabel('시간대')).toHaveValue('UTC');
  await other.close();
});

test('T-SETTINGS notifications are off, and only a click asks for them', async ({ page, hub, context }) => {
  await page.addInitScript(() => {
    const asked = { count: 0 };
    Object.assign(window, { asked });
    const ask = Notification.requestPermission.bind(Notification);
    Notification.requestPermission = () => (asked.count++, ask());
  });
  await visit(page, hub.url('settings'));
  const box = page.getByLabel('새 승인 요청을 브라우저 알림으로 받기');
  await expect(box).not.toBeChecked();
  expect(await page.evaluate(() => (window as never as { asked: { count: number } }).asked.count)).toBe(0);
  await context.grantPermissions(['notifications']);
  await page.reload();
  await shown(page);
  await expect(box).not.toBeChecked();
  await box.check();
  await expect(box).toBeChecked();
});

test('T-SETTINGS the session: role, administrator, log out everywhere', async ({ page, serve, folder, faults }) => {
  faults.allow(/status of 401/);
  await copySample(folder);
  const server = await serve({
    home: folder,
    env: { TASK_MONITOR_WRITE_TOKEN: 'wr1te-0123456789', OPENCLAWD_ADMIN_TOKEN: admin },
  });
  await page.goto(server.url('settings'));
  await page.getByLabel('토큰', { exact: true }).fill('wr1te-0123456789');
  await page.getByRole('button', { name: '로그인' }).click();
  await shown(page);
  const session = page.getByRole('region', { name: '세션' });
  await expect(session).toContainText('보기와 결정');
  await session.getByLabel('관리자 토큰').fill('wrong');
  await session.getByRole('button', { name: '15분 동안 관리자 되기' }).click();
  await expect(session.getByRole('alert')).toBeVisible();
  await session.getByLabel('관리자 토큰').fill(admin);
  await session.getByRole('button', { name: '15분 동안 관리자 되기' }).click();
  await expect(session).toContainText('관리자');
  await expect(session.getByLabel('관리자 토큰')).toHaveCount(0);
  await session.getByRole('button', { name: '모든 기기에서 로그아웃' }).click();
  await session.getByRole('button', { name: '모든 세션 끝내기' }).click();
  await expect(page.getByLabel('토큰', { exact: true })).toBeVisible();
});

test('T-SETTINGS backups: explained, made and verified by an administrator', async ({ page, serve, folder }) => {
  await copySample(folder);
  const server = await serve({ home: folder, env: { OPENCLAWD_ADMIN_TOKEN: admin } });
  await visit(page, server.url('health'));
  const backups = page.getByRole('region', { name: '백업' });
  await expect(backups.getByRole('button', { name: '지금 백업하기' })).toBeDisabled();
  await expect(backups).toContainText('관리자만 할 수 있습니다');
  await backups.getByLabel('관리자 토큰').fill(admin);
  await backups.getByRole('button', { name: '15분 동안 관리자 되기' }).click();
  await backups.getByRole('button', { name: '지금 백업하기' }).click();
  await expect(backups.getByText('백업했고 사본을 검사했습니다.')).toBeVisible();
  await expect(backups.getByRole('listitem')).toHaveCount(1);
  await backups.getByRole('button', { name: /검사하기/ }).click();
  await expect(backups.getByText('온전합니다.')).toBeVisible();
});

/** What is kept on the server, with its version. */
async function kept(server: Server): Promise<{ value: unknown; etag: string }> {
  const response = await fetch(server.url('store/queries'), { headers: { 'Sec-Fetch-Site': 'same-origin' } });
  expect(response.status).toBe(200);
  return { value: ((await response.json()) as { value: unknown }).value, etag: response.headers.get('ETag')! };
}

test('T-SETTINGS what is shared survives a crash of the server', async ({ serve, folder }) => {
  await writeHome(folder, [{ id: 'eden', name: '이든' }]);
  let server = await serve({ home: folder });
  for (let round = 1; round <= 3; round++) {
    // Writes follow each other until the server is killed among them: each is there as a whole, or not at all.
    let stored = (await kept(server)).value as number | null;
    let ended = false;
    const writing = (async () => {
      for (let next = (stored ?? 0) + 1; !ended; next++) {
        const { etag } = await kept(server).catch(() => ({ etag: '' }));
        const response = await fetch(server.url('store/queries'), {
          method: 'PUT',
          headers: { ...marks, 'If-Match': etag },
          body: JSON.stringify({ value: next }),
        }).catch(() => null);
        if (!response?.ok) return;
        stored = next;
        if (next % 5 === 0) {
          ended = true;
          void server.stop('SIGKILL');
        }
      }
    })();
    await writing;
    await server.stop('SIGKILL');
    server = await serve({ home: folder });
    expect((await kept(server)).value).toBe(stored);
  }
});

test('T-SEC-4 a token for reading closes the API, the feed and the page', async ({ page, serve, folder, faults }) => {
  faults.allow(/status of 401/);
  const token = 'r3ad-0123456789abcdef0123456789';
  await copySample(folder);
  const server = await serve({ home: folder, args: ['--log-level', 'debug'], env: { TASK_MONITOR_READ_TOKEN: token } });
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(`${server.origin}${path}`, { headers })).status;
  for (const path of ['/api/status', `/api/status?token=${token}`, '/api', '/ws', '/ui/api/status', '/ui/store/views'])
    expect(await status(path), path).toBe(401);
  for (const path of ['/', '/healthz', '/readyz']) expect(await status(path), path).toBe(200);
  expect(await status('/api/status', { 'X-Task-Monitor-Token': token })).toBe(200);
  expect(await status('/api/status', { 'X-Task-Monitor-Token': `${token}x` })).toBe(401);

  const seen: string[] = [];
  page.on('request', (request) => seen.push(request.url()));
  page.on('websocket', (socket) => seen.push(socket.url()));
  await page.goto(server.url('settings'));
  await page.getByLabel('토큰', { exact: true }).fill(token);
  await page.getByRole('button', { name: '로그인' }).click();
  await shown(page);
  await expect(page.getByRole('region', { name: '세션' })).toContainText('보기');
  await expect(page.getByRole('button', { name: /실시간/ })).toBeVisible();
  const stored = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
  );
  expect([...seen, stored, await page.content(), server.output].join('\n')).not.toContain(token);
});

test('T-SETTINGS on a phone nothing scrolls sideways', async ({ page, hub }) => {
  await page.setViewportSize({ width: 320, height: 700 });
  for (const path of ['settings', 'settings/config', 'health']) {
    await show(page, hub.url(path));
    expect(await widest(page), path).toBeLessThanOrEqual(320);
  }
});

const widest = (page: Page) =>
  page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('main')!.scrollWidth));

test('T-SETTINGS moving in: the command, and then what was taken over from OpenClaw and what was left', async ({
  page,
  serve,
  folder,
}) => {
  await writeHome(folder, [{ id: 'eden', name: '이든' }]);
  let server = await serve({ home: folder });
  await visit(page, server.url('settings'));
  await page.getByRole('link', { name: '이사' }).click();
  await expect(page.getByText(`openclawd migrate openclaw --from ~/.openclaw --db ${folder}/`)).toBeVisible();
  await page.goto('about:blank'); // a page without its server complains
  await server.stop();

  const from = join(folder, "old 'claw");
  const sessions = join(from, 'agents/eden/sessions');
  await mkdir(sessions, { recursive: true });
  await mkdir(join(from, 'cron'));
  await writeFile(join(sessions, 'sessions.json'), '{"agent:eden:main":{"sessionId":"t1","updatedAt":1795888200000}}');
  await writeFile(
    join(sessions, 't1.jsonl'),
    '{"type":"message","id":"a1","message":{"role":"user","content":"the colour is teal","timestamp":1795860000000}}\n',
  );
  const job = (n: number) => ({
    id: `j${n}`,
    name: `ping ${n}`,
    schedule: { kind: 'every', everyMs: 3600000 },
    payload: { kind: 'agentTurn', message: 'm' },
    trigger: { script: 'x' },
  });
  await writeFile(join(from, 'cron/jobs.json'), JSON.stringify({ jobs: Array.from({ length: 30 }, (_, n) => job(n)) }));
  await promisify(execFile)(binary, ['migrate', 'openclaw', '--from', from, '--state-dir', folder]).catch(
    (error: { code: number }) => expect(error.code).toBe(1),
  );
  server = await serve({ home: folder });
  await visit(page, server.url('settings/migrations'));
  const section = page.getByRole('region', { name: 'OpenClaw에서 가져온 것' });
  await expect(section).toContainText('일부가 남음');
  await expect(section.getByRole('row').filter({ hasText: '메시지' })).toContainText('110');
  await expect(section.getByRole('row').filter({ hasText: '예약 작업' })).toContainText('30030');
  await expect(section.getByRole('listitem')).toHaveCount(20);
  await expect(section.getByRole('listitem').first()).toContainText('cron/jobs.json#0');
  await expect(section.getByRole('listitem').first()).toContainText('has a trigger');
  await section.getByRole('button', { name: '모두 보기' }).click();
  await expect(section.getByRole('listitem')).toHaveCount(30);
  await expect(section).toContainText(`--from '${folder}/old '\\''claw'`);
});
