import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { conversation, liveState, pair, recorded, recordEvents } from './stage/live.ts';
import { copySample, logFile, Server, textOf, until, writeHome } from './stage/server.ts';
import { expect, move, shown, test, visit } from './stage/test.ts';

// What a cut connection, or a server that is away, leaves in the console.
const cuts = [
  /WebSocket connection to .* failed/,
  /Failed to load resource: net::ERR_/,
  /WebSocket is already in CLOSING/,
];

/** Seqs from `first` to `last`, each once and in order. */
const every = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

test.describe('T-WS', () => {
  test.setTimeout(120_000);

  test('T-WS 10,000 events over 50 cuts arrive once each and in order', async ({
    page,
    serve,
    relay,
    folder,
    faults,
  }) => {
    faults.allow(...cuts);
    await writeHome(folder, pair, conversation(0, 10));
    const server = await serve({ home: folder, args: ['--follow'] });
    const proxy = await relay(server.port);
    await visit(page, `${proxy.origin}/ui/`);
    await recordEvents(page);
    await expect.poll(async () => (await liveState(page)).state).toBe('live');
    const first = (await liveState(page)).seq + 1;
    for (let round = 0; round < 50; round++) {
      await appendFile(logFile(folder), textOf(conversation(10 + round * 200, 200)));
      // Events are on their way when the connection ends, and sometimes none are.
      if (round % 3 > 0) await until(async () => (await recorded(page)).length > round * 150, 'events', 30_000);
      proxy.delayMs = round % 5 === 0 ? 40 : 0;
      proxy.cut();
      await page.evaluate(() => (window as any).__live.hurry());
    }
    proxy.delayMs = 0;
    await until(async () => (await server.head()) >= first + 9_999, 'the import', 60_000);
    const last = await server.head();
    await expect.poll(async () => (await liveState(page)).seq, { timeout: 60_000 }).toBe(last);
    expect(last).toBe(first + 9_999);
    expect(await recorded(page)).toEqual(every(first, last));
    expect((await liveState(page)).reconnects).toBeGreaterThanOrEqual(25);

    // What is shown is what the API says: on the page that was open all the time, and in the list.
    const { problems, total } = await server.api('problems');
    await expect(page.locator('main li a[data-row]')).toHaveCount(Math.min(problems.length, 100));
    if (total > 0) await expect(page.locator('nav .badge').first()).toHaveText(String(total));
    const { sessions } = await server.api('work-sessions?include=summary&status=ACTIVE,QUIET,ARCHIVED');
    expect(sessions).toHaveLength(1);
    await move(page, `${proxy.origin}/ui/c?cat=all`);
    const row = page.locator('main a[data-row]');
    await expect(row).toHaveCount(1);
    await expect(row).toContainText(sessions[0].title);
    // The last message is that of the last event, in the list and in the thread.
    const said = sessions[0].lastMessage.text;
    expect(said).toMatch(/10009/);
    await row.click();
    await expect(page.locator('article.message').last()).toContainText(said);
    await expect(page.getByRole('tab', { name: /이벤트/ })).toContainText(String(sessions[0].totals.eventCount));
  });

  test('T-WS a page that is left listens no more', async ({ page, hub }) => {
    await visit(page, hub.url('agents'));
    await recordEvents(page);
    const listeners = () => page.evaluate(() => (window as any).__live.listeners as number);
    const visits = async () => {
      for (const name of [/^대화/, /^작업/, /^지금/, /^에이전트/]) {
        await page.getByRole('navigation').getByRole('link', { name }).first().click();
        await shown(page);
      }
    };
    await visits();
    const before = await listeners();
    for (let round = 0; round < 3; round++) await visits();
    expect(await listeners()).toBe(before);
  });

  test('T-WS a half-open connection is noticed and loses nothing', async ({ page, serve, relay, folder, faults }) => {
    faults.allow(...cuts);
    await writeHome(folder, pair, conversation(0, 10));
    const server = await serve({ home: folder, args: ['--follow'] });
    const proxy = await relay(server.port);
    await page.clock.install();
    await visit(page, `${proxy.origin}/ui/`);
    await recordEvents(page);
    await expect.poll(async () => (await liveState(page)).state).toBe('live');
    const first = (await liveState(page)).seq + 1;
    proxy.held = true;
    await appendFile(logFile(folder), textOf(conversation(10, 100)));
    await until(async () => (await server.head()) === first + 99, 'the import');
    // The probe gets no answer either; then the network is back, while the old connections stay dead.
    await page.clock.runFor(21_000);
    await page.clock.runFor(11_000);
    proxy.held = false;
    proxy.cut();
    await expect
      .poll(
        async () => {
          await page.clock.runFor(1000);
          return (await liveState(page)).seq;
        },
        { timeout: 30_000 },
      )
      .toBe(first + 99);
    expect(await recorded(page)).toEqual(every(first, first + 99));
  });

  test('T-WS a killed server comes back, and the page goes on', async ({ page, serve, folder, faults }) => {
    faults.allow(...cuts);
    await writeHome(folder, pair, conversation(0, 10));
    let server = await serve({ home: folder, args: ['--follow'] });
    const { port } = server;
    await visit(page, server.url());
    await recordEvents(page);
    await expect.poll(async () => (await liveState(page)).state).toBe('live');
    const first = (await liveState(page)).seq + 1;
    await server.stop('SIGKILL');
    await expect(page.getByRole('button', { name: /다시 연결 중|연결 중/ })).toBeVisible();
    await appendFile(logFile(folder), textOf(conversation(10, 50)));
    server = await serve({ home: folder, args: ['--follow'], port });
    await expect
      .poll(async () => (await liveState(page)).seq, { timeout: 40_000 })
      .toBe(await lastOf(server, first + 49));
    expect(await recorded(page)).toEqual(every(first, first + 49));
    await expect(page.getByRole('button', { name: /실시간/ })).toBeVisible();
  });

  test('T-WS a server that ends says so, and the page goes on with the next one', async ({
    page,
    serve,
    folder,
    faults,
  }) => {
    faults.allow(...cuts);
    await writeHome(folder, pair, conversation(0, 10));
    let server = await serve({ home: folder, args: ['--follow'] });
    const { port } = server;
    await page.addInitScript(() => {
      const codes: number[] = ((window as any).__codes = []);
      window.WebSocket = class extends WebSocket {
        constructor(url: string | URL) {
          super(url);
          this.addEventListener('close', ({ code }) => codes.push(code));
        }
      };
    });
    await visit(page, server.url());
    await recordEvents(page);
    await expect.poll(async () => (await liveState(page)).state).toBe('live');
    const first = (await liveState(page)).seq + 1;
    await server.stop('SIGTERM');
    await expect.poll(() => page.evaluate(() => (window as any).__codes[0])).toBe(1012);
    await appendFile(logFile(folder), textOf(conversation(10, 5)));
    server = await serve({ home: folder, args: ['--follow'], port });
    await expect
      .poll(async () => (await liveState(page)).seq, { timeout: 40_000 })
      .toBe(await lastOf(server, first + 4));
    expect(await recorded(page)).toEqual(every(first, first + 4));
  });

  test('T-WS a file that changes changes what is shown', async ({ page, serve, folder }) => {
    await copySample(folder);
    const server = await serve({ home: folder, args: ['--follow', '--clock', '2026-02-20T12:00:00Z'] });
    const { id, agentId, description } = await runningTask(server);
    const file = join(folder, `workspace-${agentId}`, 'tasks', `${id}.md`);
    await visit(page, server.url('tasks'));
    await recordEvents(page);
    await expect.poll(async () => (await liveState(page)).state).toBe('live');
    const title = description.split('\n')[0]!;
    await expect(page.locator('main').getByText(title).first()).toBeVisible();
    const change = async (from: string, to: string) =>
      writeFile(file, (await readFile(file, 'utf8')).replaceAll(from, to));
    // Each change is found, not only the first one after an answer.
    await change(title, '바뀐 제목 하나');
    await expect(page.locator('main').getByText('바뀐 제목 하나').first()).toBeVisible();
    await change('바뀐 제목 하나', '바뀐 제목 둘');
    await expect(page.locator('main').getByText('바뀐 제목 둘').first()).toBeVisible();
    await expect(page.locator('main').getByText(title)).toHaveCount(0);
  });

  test('T-WS a file that changes while the connection is away changes what is shown', async ({
    page,
    serve,
    relay,
    folder,
    faults,
  }) => {
    faults.allow(...cuts);
    await copySample(folder);
    const server = await serve({ home: folder, args: ['--follow', '--clock', '2026-02-20T12:00:00Z'] });
    const proxy = await relay(server.port);
    const { id, agentId, description } = await runningTask(server);
    const file = join(folder, `workspace-${agentId}`, 'tasks', `${id}.md`);
    const title = description.split('\n')[0]!;
    await visit(page, `${proxy.origin}/ui/tasks`);
    await expect(page.locator('main').getByText(title).first()).toBeVisible();
    await recordEvents(page);
    await expect.poll(async () => (await liveState(page)).state).toBe('live');
    proxy.refusing = true;
    proxy.cut();
    await expect.poll(async () => (await liveState(page)).state).not.toBe('live');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(title, '그사이 바뀐 제목'));
    await until(
      async () => JSON.stringify(await server.api('tasks?open=true&limit=200')).includes('그사이'),
      'the change',
    );
    proxy.refusing = false;
    await expect(page.locator('main').getByText('그사이 바뀐 제목').first()).toBeVisible({ timeout: 40_000 });
  });

  for (const { code, reason, times } of [
    { code: 1013, reason: 'too slow', times: 1 },
    { code: 1013, reason: 'too slow', times: 4 },
    { code: 1012, reason: 'restart', times: 1 },
  ]) {
    test(`T-WS close ${code}, ${times} times`, async ({ page, serve, folder }) => {
      await writeHome(folder, pair, conversation(0, 10));
      const server = await serve({ home: folder, args: ['--follow'] });
      let closed = 0;
      await page.routeWebSocket(/\/ui\/ws/, (socket) => {
        const onward = socket.connectToServer();
        onward.onMessage((message) => {
          socket.send(message);
          if (closed < times && String(message).includes('coordination_event_new')) {
            closed++;
            const { seq } = JSON.parse(String(message)).data;
            void socket.close({ code, reason: JSON.stringify({ code: reason, seq, hint: '' }) });
          }
        });
      });
      await visit(page, server.url());
      await recordEvents(page);
      await expect.poll(async () => (await liveState(page)).state).toBe('live');
      const first = (await liveState(page)).seq + 1;
      let next = 10;
      for (let round = 0; round < times; round++) {
        await appendFile(logFile(folder), textOf(conversation(next, 20)));
        next += 20;
        await until(() => closed > round, 'the close');
      }
      await expect.poll(async () => (await liveState(page)).state, { timeout: 20_000 }).toBe('live');
      // After three times in a minute what was missed is read again and not replayed; nothing comes twice or in disorder in any case.
      await appendFile(logFile(folder), textOf(conversation(next, 20)));
      const last = await lastOf(server, first + next + 9);
      await expect.poll(async () => (await liveState(page)).seq, { timeout: 20_000 }).toBe(last);
      const seen = await recorded(page);
      if (times < 3) expect(seen).toEqual(every(first, last));
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    });
  }

  test('T-WS a restored older database is said, and nothing is made up', async ({ page, serve, folder, faults }) => {
    faults.allow(...cuts);
    await writeHome(folder, pair, conversation(0, 50));
    const server = await serve({ home: folder, args: ['--follow'] });
    await visit(page, server.url());
    await recordEvents(page);
    await expect.poll(async () => (await liveState(page)).state).toBe('live');
    await server.stop();
    const older = `${folder}/older`;
    await writeHome(older, pair, conversation(0, 5));
    await serve({ home: older, args: ['--follow'], port: server.port });
    await expect(page.getByRole('alert')).toContainText('복원', { timeout: 40_000 });
    await page.getByRole('alert').getByRole('button', { name: '새로 고침' }).click();
    await expect(page.getByRole('alert')).toHaveCount(0);
  });
});

/** Waits until the server has read the log up to a seq, and returns it. */
async function lastOf(server: Server, seq: number): Promise<number> {
  await until(async () => (await server.head()) >= seq, `seq ${seq}`, 30_000);
  return await server.head();
}

/** A task that an agent works on, once the files have been read. */
async function runningTask(server: Server): Promise<{ id: string; agentId: string; description: string }> {
  let found: any;
  await until(async () => {
    const { tasks } = await server.api('tasks?open=true&limit=200');
    found = tasks.find(({ status }: { status: string }) => status === 'in_progress');
    return found !== undefined;
  }, 'a running task');
  return found;
}
