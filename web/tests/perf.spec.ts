import { cpus, loadavg } from 'node:os';
import { quantile } from '../bench/figures.ts';
import { measures } from '../bench/measures.ts';
import { write } from '../bench/writer.ts';
import { conversation, liveState, pair, recorded, recordEvents } from './stage/live.ts';
import { logFile, until, writeHome } from './stage/server.ts';
import { expect, test, visit, type Page } from './stage/test.ts';

// The page as most people have it.
test.use({ contextOptions: { reducedMotion: 'no-preference' } });

/** Events a second, and for how long: `make ui-bench GREP=live` measures a minute of it on three pages. */
const rate = 1000;
const seconds = 10;
/** How long the page is watched before, while nothing comes. */
const idleSeconds = 4;
/** The machine does other things as well, so the best of some tries counts. */
const tries = 3;
/** By how much the frames may be longer than those of the idle page, in milliseconds. */
const more = 4;
/** Seconds for which the page's main thread may compute for a second of events. Where others use the cores too, this decides: frames say little. */
const share = 0.5;

interface Watched {
  /** 95th percentile of the frames, in milliseconds. */
  frame: number;
  /** Processor time of the main thread, in seconds. */
  computed: number;
}

/** Watches the page while something is done. */
async function watched(page: Page, work: () => Promise<unknown>): Promise<Watched> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const computed = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')!.value;
  };
  await page.evaluate(() => window.measures.record(''));
  const before = await computed();
  await work();
  const { frames } = await page.evaluate(() => window.measures.stop());
  const after = await computed();
  await devtools.detach();
  return { frame: quantile(frames, 0.95), computed: after - before };
}

/** Whether more programs want to run than there are cores, not counting those of the test. */
const busy = () => loadavg()[0]! > 2 * cpus().length;

test(`T-PERF ${rate} events a second lengthen no frame, and none is lost or doubled`, async ({
  page,
  serve,
  folder,
}, info) => {
  test.setTimeout(180_000);
  await writeHome(folder, pair, conversation(0, 10));
  const server = await serve({ home: folder, args: ['--follow'] });
  await page.addInitScript(measures);
  await visit(page, server.url('log?scope=all'));
  await recordEvents(page);
  await expect.poll(async () => (await liveState(page)).state).toBe('live');
  const first = (await liveState(page)).seq + 1;

  const tried: string[] = [];
  let met = false;
  let sent = 0;
  while (!met && tried.length < tries) {
    const idle = await watched(page, () => page.waitForTimeout(idleSeconds * 1000));
    const lines = conversation(10 + sent, rate * seconds).map((line) => JSON.stringify(line));
    sent += lines.length;
    const last = first + sent - 1;
    const under = await watched(page, async () => {
      await write(logFile(folder), lines, rate);
      await until(async () => (await server.head()) >= last, 'the server to read the log', 60_000);
      await until(async () => (await liveState(page)).seq >= last, 'the page to follow', 60_000);
    });
    expect(await recorded(page)).toEqual(Array.from({ length: sent }, (_, index) => first + index));
    await expect(page.locator(`main [data-seq="${last}"]`)).toBeInViewport();
    const computed = under.computed / seconds;
    met = under.frame <= idle.frame + more || (busy() && computed <= share);
    tried.push(
      `frames of ${under.frame.toFixed(1)} ms (idle ${idle.frame.toFixed(1)} ms), ` +
        `${Math.round(computed * 1000)} ms of computing for a second of events, load ${loadavg()[0]!.toFixed(1)}`,
    );
  }
  info.annotations.push({ type: 'measured', description: tried.join('; ') });
  expect(met, tried.join('; ')).toBe(true);
});
