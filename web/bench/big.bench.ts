import { join } from 'node:path';
import { until } from '../tests/stage/server.ts';
import { quantile, test, within } from './figures.ts';
import { fill } from './fill.ts';
import { places } from './places.ts';

const events = Number(process.env.OPENCLAWD_UI_EVENTS ?? 1_000_000);
const visits = 10;

test(`big: pages over a log of ${events} events`, async ({ serve, folder, open, report }) => {
  const state = join(folder, 'team');
  await fill(state, events);
  const server = await serve({ home: state, args: ['--follow'] });
  // Search is fed after the start; measured is the page, not that.
  const fed = async () => (await fetch(`${server.origin}/api/events/search?q=a2a&limit=1&min_seq=${events}`)).ok;
  await until(fed, 'the search file', 20 * 60_000);
  const page = await open();
  for (const [name, path] of Object.entries(await places(server))) {
    const took: { ms: number; api: number }[] = [];
    for (let visit = 0; visit <= visits; visit++) {
      await page.goto(server.url(path));
      took.push(await page.evaluate(() => window.measures.opened()));
    }
    const times = took.slice(1);
    const api = quantile(
      times.map(({ api }) => api),
      0.95,
    );
    report(
      within(
        `big.${name}`,
        quantile(
          times.map(({ ms, api }) => ms - api),
          0.95,
        ),
        'ms',
        500,
        `p95 of ${visits} visits by address, beyond the time in which answers are awaited (p95 ${api.toFixed(0)} ms); ${events} events`,
      ),
    );
  }
});
