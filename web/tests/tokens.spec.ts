import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { say } from './stage/chat.ts';
import { binary, copySample } from './stage/server.ts';
import { expect, shown, test } from './stage/test.ts';

const run = promisify(execFile);

test('T-SEC-6 tokens of the run occur in no answer, URL, storage, document or log line', async ({
  page,
  context,
  serve,
  folder,
  faults,
}) => {
  test.setTimeout(90_000);
  faults.allow(/status of 401/);
  const [write, admin] = ['wr1te-0123456789abcdef0123456789', 'adm1n-0123456789abcdef0123456789'];
  await copySample(folder);
  const server = await serve({
    home: folder,
    args: ['--gateway', '127.0.0.1:0', '--log-level', 'debug', '--clock', '2026-02-20T12:00:00Z'],
    env: { TASK_MONITOR_WRITE_TOKEN: write, OPENCLAWD_ADMIN_TOKEN: admin },
  });
  const gateway = (await readFile(join(folder, 'openclawd-gateway.token'), 'utf8')).trim();
  expect(gateway.length).toBeGreaterThan(20);
  const key = (await readFile(join(folder, 'openclawd-ui.key'), 'utf8')).trim();

  const answers: Promise<string>[] = [];
  const urls: string[] = [];
  const frames: string[] = [];
  page.on('request', (request) => urls.push(request.url(), request.headers()['referer'] ?? ''));
  page.on('response', (response) => {
    answers.push(
      Promise.all([response.allHeaders(), response.text().catch(() => '')]).then(([headers, text]) => {
        const { 'set-cookie': _cookie, ...rest } = headers;
        return `${response.url()} ${JSON.stringify(rest)} ${text}`;
      }),
    );
  });
  page.on('websocket', (socket) => {
    urls.push(socket.url());
    socket.on('framereceived', ({ payload }) => frames.push(String(payload)));
    socket.on('framesent', ({ payload }) => frames.push(String(payload)));
  });

  // A wrong token, then the right one.
  await page.goto(server.url());
  const token = page.getByLabel('토큰');
  await token.fill('wrong');
  await page.getByRole('button', { name: '로그인' }).click();
  await expect(page.getByRole('alert').filter({ hasText: /\S/ })).toBeVisible();
  await token.fill(write);
  await page.getByRole('button', { name: '로그인' }).click();
  await expect(token).toHaveCount(0);
  await shown(page);
  for (const path of ['c', 'tasks', 'agents', 'search?q=배포', 'health', 'settings', 'settings/config', 'go/1']) {
    await page.goto(server.url(path));
    await shown(page);
  }
  // The chat goes to the gateway, whose token the server adds.
  await page.goto(server.url('chat/eden'));
  await shown(page);
  await say(page, '/status');
  await expect(page.locator('article.bubble').last()).toContainText('Session: agent:eden:main');
  expect(frames.join('\n')).toContain('chat.send');
  const sample = () =>
    page.evaluate(() =>
      JSON.stringify([
        document.documentElement.outerHTML,
        [...document.querySelectorAll('input, textarea')].map((input) => (input as HTMLInputElement).value),
        { ...localStorage },
        { ...sessionStorage },
        document.cookie,
        location.href,
        history.state,
        performance.getEntriesByType('resource').map(({ name }) => name),
      ]),
    );
  const samples = [await sample()];
  const cookies = (await context.cookies()).filter(({ name }) => name.startsWith('oc_ui_'));
  expect(cookies).toHaveLength(1);
  expect(cookies[0]).toMatchObject({ httpOnly: true, sameSite: 'Strict' });

  // A link that works once.
  await context.clearCookies();
  const { stdout } = await run(binary, ['open', '--state-dir', folder, '--api', `127.0.0.1:${server.port}`]);
  const link = /http\S+#code=\S+/.exec(stdout)![0];
  const code = decodeURIComponent(link.split('#code=')[1]!);
  await page.goto('about:blank');
  await page.goto(link);
  await shown(page);
  await expect(page).not.toHaveURL(/code/);
  await expect(token).toHaveCount(0);
  samples.push(await sample());
  const session = (await context.cookies()).find(({ name }) => name.startsWith('oc_ui_'))!;
  expect(session).toBeDefined();

  const said = (await Promise.all(answers)).join('\n');
  const everything = {
    said,
    urls: urls.filter((url) => url !== link).join('\n'),
    frames: frames.join('\n'),
    samples: samples.join('\n'),
    log: server.output,
  };
  for (const [what, secret] of Object.entries({
    write,
    admin,
    gateway,
    key,
    code,
    cookie: cookies[0]!.value,
    session: session.value,
  })) {
    for (const [where, text] of Object.entries(everything)) {
      expect(text.includes(secret), `${what} in ${where}`).toBe(false);
      expect(
        text.includes(Buffer.from(secret).toString('base64').replace(/=+$/, '')),
        `${what} in base64 in ${where}`,
      ).toBe(false);
    }
  }
  expect(said).toContain('"role":"operate"');
  expect(everything.log).toContain('session opened');
});
