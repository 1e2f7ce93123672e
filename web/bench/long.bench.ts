import { conversation, pair } from '../tests/stage/live.ts';
import { until, writeHome } from '../tests/stage/server.ts';
import { beyondIdle, median, quantile, test, within } from './figures.ts';

const messages = 5000;
const rounds = 5;

test(`thread: ${messages} messages`, async ({ serve, folder, open, report }) => {
  await writeHome(folder, pair, conversation(0, messages));
  const server = await serve({ home: folder, args: ['--follow'] });
  await until(async () => (await server.head()) >= messages, 'the log', 60_000);
  const opened: { ms: number; api: number }[] = [];
  let page = await open();
  for (let round = 0; round <= rounds; round++) {
    if (round > 0) page = await open();
    await page.goto(server.url('c?cat=all'));
    await page.evaluate(() => window.measures.opened());
    opened.push(await page.evaluate(() => window.measures.move('c/ws_flood/conv:flood?cat=all')));
  }
  const times = opened.slice(1);
  const api = median(times.map(({ api }) => api));

  const scrolled = async (by: number) => {
    await page.evaluate(() => window.measures.record('/api/'));
    for (const end = Date.now() + 5000; Date.now() < end;) {
      await page.mouse.wheel(0, by);
      await page.waitForTimeout(50);
    }
    return quantile((await page.evaluate(() => window.measures.stop())).frames, 0.95);
  };
  await page.locator('[role=log]').hover();
  const [idle, frame] = [await scrolled(0), await scrolled(-600)];
  report(
    within(
      'thread.open',
      median(times.map(({ ms }) => ms)),
      'ms',
      500,
      `a thread of ${messages} messages from the list, its answer included (${api.toFixed(0)} ms); median of ${rounds}`,
    ),
    beyondIdle('thread.scroll', frame, idle, 4, 'p95 of the frames while its messages are scrolled, 5 s'),
  );
});
