import type { Page } from '@playwright/test';
import { fixedTime, type Server } from '../tests/stage/server.ts';
import { median, quantile, test, within } from './figures.ts';
import { places } from './places.ts';

/** Rounds of a measurement, after one that warms the server. */
const rounds = 5;

/** Opens the page and returns when it was usable, when something was painted first, and the bytes of scripts that came before. */
async function load(page: Page, server: Server, slower: number) {
  // The rate is that of a process: the document before has the same origin.
  await page.goto(`${server.origin}/api/health`);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slower });
  await page.goto(server.url());
  return await page.evaluate(async () => {
    const usable = (await window.measures.opened()).ms;
    const paint = performance.getEntriesByName('first-contentful-paint')[0]!.startTime;
    const scripts = (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).filter(
      ({ name, startTime }) => /\.js$/.test(name) && startTime < usable,
    );
    return { usable, paint, bytes: scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) };
  });
}

test('load: first load of Now', async ({ serve, open, report }) => {
  const server = await serve({ args: ['--clock', fixedTime] });
  await server.settle();
  const slow: Awaited<ReturnType<typeof load>>[] = [];
  const fast: typeof slow = [];
  for (let round = 0; round <= rounds; round++) {
    fast.push(await load(await open(), server, 1));
    slow.push(await load(await open(), server, 4));
  }
  const [idle, slowed] = [fast, slow].map((all) => ({
    usable: median(all.slice(1).map(({ usable }) => usable)),
    paint: median(all.slice(1).map(({ paint }) => paint)),
  })) as [{ usable: number; paint: number }, { usable: number; paint: number }];
  const note = `sample team, empty cache, median of ${rounds}`;
  const with4 = (name: 'usable' | 'paint') =>
    `CPU slowed 4 times (${Math.round(idle[name])} ms at full speed); ${note}`;
  report(
    within('load.scripts', slow[0]!.bytes / 1024, 'KiB', 130, 'scripts before Now is usable, as sent'),
    within('load.paint', slowed.paint, 'ms', 1000, with4('paint')),
    within('load.usable', slowed.usable, 'ms', 2000, with4('usable')),
  );
});

test('move: from page to page', async ({ serve, open, report }) => {
  const server = await serve({ args: ['--clock', fixedTime] });
  await server.settle();
  const all = await places(server);
  const page = await open();
  await page.goto(server.url());
  const moves = await page.evaluate(async (all) => {
    const { measures } = window;
    // A person looks at a page before going on; meanwhile it asks again for what it has.
    const look = () => new Promise((done) => setTimeout(done, 150));
    for (const path of Object.values(all)) {
      await measures.move(path);
      await look();
    }
    const moves: { from: string; to: string; ms: number }[] = [];
    for (const [from, path] of Object.entries(all)) {
      for (const [to, next] of Object.entries(all)) {
        if (from === to) continue;
        await measures.move(path);
        await look();
        moves.push({ from, to, ms: (await measures.move(next)).ms });
        await look();
      }
    }
    return moves;
  }, all);
  const worst = moves.reduce((a, b) => (a.ms > b.ms ? a : b));
  const times = moves.map(({ ms }) => ms);
  const note = `${moves.length} pairs of pages of the sample team, each visited before; median ${median(times).toFixed(0)} ms`;
  report(
    within('move.p95', quantile(times, 0.95), 'ms', 100, note),
    within('move.worst', worst.ms, 'ms', 100, `from ${worst.from} to ${worst.to}; ${note}`),
  );
});
