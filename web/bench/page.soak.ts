import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, type CDPSession, type Page, type WebSocket } from '@playwright/test';
import { findLive, liveState } from '../tests/stage/live.ts';
import { logFile, top, until } from '../tests/stage/server.ts';
import { enc } from '../tests/stage/tour.ts';
import { test, within } from './figures.ts';
import { fill } from './fill.ts';
import { places } from './places.ts';
import { linesOf, write } from './writer.ts';

const minutes = Number(process.env.OPENCLAWD_UI_MINUTES ?? 20);
/** A team makes some 5 events a second; 20 minutes of 100 times as many are those of 33 hours. */
const rate = Number(process.env.OPENCLAWD_UI_RATE ?? 500);
/** Events that the log has before. */
const before = 10_000;
/** How long each page stays open. */
const stay = 2000;
/** The page without a page: an address that leads nowhere. */
const frame = 'nowhere';

/** What the page holds, after a collection. */
interface Held {
  heap: number;
  /** Nodes of all kinds, also those that are not in the document any more. */
  nodes: number;
  /** Parts of the page that listen to events. */
  listeners: number;
}

/** Paths of routes.ts whose first part no place has. */
async function notVisited(list: string[]): Promise<string[]> {
  const routes = await readFile(join(top, 'web/src/app/routes.ts'), 'utf8');
  const firstPart = (path: string) => path.split(/[/?]/)[0];
  const visited = new Set(list.map(firstPart));
  return [...routes.matchAll(/\bpath: '([^']*)'/g)]
    .map(([, path]) => path!)
    .filter((path) => !visited.has(firstPart(path)!));
}

async function held(page: Page, devtools: CDPSession): Promise<Held> {
  await page.evaluate((path) => window.measures.move(path), frame);
  // Timings of requests are kept for the benchmarks; the page does not need them.
  await page.evaluate(() => performance.clearResourceTimings());
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  const { nodes } = await devtools.send('Memory.getDOMCounters');
  const listeners = await page.evaluate(() => (window as any).__live.listeners as number);
  return { heap: usedSize / 1e6, nodes, listeners };
}

test(`soak: all pages for ${minutes} minutes, ${rate} events a second`, async ({ serve, folder, open, report }) => {
  const state = join(folder, 'team');
  await fill(state, before, rate * 60 * (minutes + 5));
  const server = await serve({ home: state, args: ['--follow'] });
  await until(async () => (await server.head()) >= before, 'the log', 60_000);
  const known = await places(server);
  const { sessions } = await server.api('work-sessions?limit=1&status=ACTIVE,QUIET,ARCHIVED');
  const { agents } = await server.api('agents');
  // Without the permissions of tools, which the server refuses to tell where another gateway keeps them.
  const list = [
    ...Object.values(known),
    ...['tasks?view=list', 'inbox', 'inbox?tab=dead', 'owed', `chat/${enc(agents[0].id)}`],
    ...[`flow/${enc(sessions[0].workSessionId)}`, 'log?scope=all', 'time', 'time/diff', 'why', 'sql', 'settings'],
    ...['settings/config', 'schedules', 'tools', 'tools?tab=servers', `go/${before}`],
  ];
  expect(await notVisited(list), 'pages of routes.ts that are not in the list').toEqual([]);

  const page = await open();
  const errors: string[] = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(`${message.text()} at ${page.url()}`));
  const sockets = new Set<WebSocket>();
  let opened = 0;
  page.on('websocket', (socket) => {
    sockets.add(socket);
    opened++;
    socket.on('close', () => sockets.delete(socket));
  });
  await page.goto(server.url());
  await page.evaluate(() => window.measures.opened());
  await findLive(page);
  await until(async () => (await liveState(page)).state === 'live', 'the connection');
  const devtools = await page.context().newCDPSession(page);
  const alone = (await held(page, devtools)).listeners;

  const start = Date.now();
  const end = start + minutes * 60_000;
  let over = false;
  const writing = write(logFile(state), linesOf(join(state, 'next.ndjson')), rate, () => over);
  let early: Held | undefined;
  let [visits, largest] = [0, { elements: 0, path: '' }];
  try {
    while (Date.now() < end) {
      // The page's store of events is full and each page was open, so that nothing is loaded for the first time afterwards.
      for (const path of list) {
        await page.evaluate((path) => window.measures.move(path), path);
        await page.waitForTimeout(stay);
        visits++;
        const elements = await page.evaluate(() => document.querySelectorAll('*').length);
        if (elements > largest.elements) largest = { elements, path };
        await page.evaluate(() => performance.clearResourceTimings());
        if (Date.now() > end && early) break;
      }
      if (!early && Date.now() - start >= (end - start) / 20) early = await held(page, devtools);
    }
  } finally {
    over = true;
  }
  const written = await writing;
  await until(async () => (await server.head()) >= before + written, 'the server to read the log', 120_000);
  const last = await server.head();
  await until(async () => (await liveState(page)).seq >= last, 'the page to follow', 120_000);
  const late = await held(page, devtools);

  const note = `${visits} visits of ${list.length} places, ${written} events`;
  const figures = [
    within(
      'soak.heap',
      late.heap,
      'MB',
      120,
      `at the end, after a collection; ${early!.heap.toFixed(1)} MB early; ${note}`,
    ),
    within('soak.growth', late.heap / early!.heap, 'x', 1.5, `heap at the end by that after a twentieth; ${note}`),
    within('soak.nodes', late.nodes, '', 5000, `nodes that are held, without a page; ${early!.nodes} early; ${note}`),
    within(
      'soak.elements',
      largest.elements,
      '',
      5000,
      `most elements of a page, of ${largest.path || 'now'}; ${note}`,
    ),
    within('soak.sockets', sockets.size, '', 1, `open at the end, of ${opened} in all; ${note}`),
    within('soak.listeners', late.listeners - alone, '', 0, `more than the ${alone} of the frame; ${note}`),
    within('soak.errors', errors.length, '', 0, `in the console; ${note}`),
  ];
  report(...figures);
  expect(errors, 'errors in the console').toEqual([]);
  expect(sockets.size, 'open sockets').toBe(1);
  expect(late.listeners, 'listeners, as the frame alone has').toBe(alone);
  for (const { name, ok, value, goal, note } of figures)
    expect(ok, `${name} is ${value}, goal ${goal}: ${note}`).toBe(true);
});
