import { appendFile } from 'node:fs/promises';
import { conversation, liveState, pair, recorded, recordEvents } from './stage/live.ts';
import { logFile, Server, textOf, until, writeHome } from './stage/server.ts';
import { expect, test, visit } from './stage/test.ts';

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

  test('T-WS a half-open connection is noticed while the log is quiet', async ({
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
    let ticked = 0;
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => (ticked += String(payload).includes('"type":"tick"') ? 1 : 0)),
    );
    await visit(page, `${proxy.origin}/ui/`);
    await recordEvents(page);
    await until(() => ticked > 0, 'a tick', 30_000);
    const { seq } = await liveState(page);
    // No event is missing, and requests are answered: only the ticks stay away.
    proxy.silence();
    await until(async () => (await liveState(page)).reconnects > 0, 'the page to notice', 60_000);
    await expect.poll(async () => (await liveState(page)).state, { timeout: 60_000 }).toBe('live');
    expect((await liveState(page)).seq).toBe(seq);
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
