import { readFile } from 'node:fs/promises';
import { conversation, pair } from './stage/live.ts';
import { writeHome, type Line } from './stage/server.ts';
import { expect, move, type Hub, test, visit } from './stage/test.ts';
import { enc, everySession } from './stage/tour.ts';

interface Node {
  kind: string;
  id: string;
  agent?: string;
  from?: string;
  to?: string;
  messages?: { from?: string; to?: string; type: string }[];
  children?: Node[];
}

const flat = (nodes: Node[]): Node[] => nodes.flatMap((node) => [node, ...flat(node.children ?? [])]);

/** Work sessions with the nodes of their traces, those with most nodes first. */
async function traces(hub: Pick<Hub, 'api'>): Promise<{ id: string; nodes: Node[] }[]> {
  const all: { id: string; nodes: Node[] }[] = [];
  for (const { workSessionId } of await everySession(hub)) {
    const { trace } = await hub.api<{ trace: { roots: Node[] } }>(`trace/${enc(workSessionId)}`);
    all.push({ id: workSessionId, nodes: flat(trace.roots) });
  }
  return all.sort((a, b) => b.nodes.length - a.nodes.length);
}

test('T-FLOW has a lane for each agent of the trace, and the table says the same', async ({ page, hub }) => {
  test.setTimeout(120_000);
  await page.setViewportSize({ width: 1440, height: 2400 });
  const all = await traces(hub);
  await visit(page, hub.url());
  for (const { id, nodes } of [...all.slice(0, 4), ...all.slice(10, 14)]) {
    await move(page, hub.url(`flow/${enc(id)}`));
    const agents = new Set(
      nodes.flatMap(({ agent, from, to, messages }) => [
        ...(agent ? [agent] : [from, to]),
        ...(agent ? [] : (messages ?? []).flatMap((message) => [message.from, message.to])),
      ]),
    );
    agents.delete(undefined);
    const lanes = page.locator('[data-lane]');
    await expect(lanes.first()).toBeAttached();
    // The key of a lane ends with its agent; before that stands the lane that has started a sub-agent.
    const shown = await lanes.evaluateAll((list) =>
      list.map((lane) => lane.getAttribute('data-lane')!.split('>').at(-1)!),
    );
    expect([...new Set(shown)].sort(), id).toEqual([...agents].sort());
    await page.keyboard.press('Shift+V');
    await expect(page).toHaveURL(/view=table/);
    const rows = page.locator('tbody tr');
    const keys = await rows.evaluateAll((list) => list.map((row) => row.getAttribute('data-key')!));
    expect(keys.toSorted(), id).toEqual(
      nodes
        .map((node) => `${node.kind}:${node.id}`)
        .slice(0, 100)
        .sort(),
    );
    await page.getByRole('button', { name: '그림으로' }).click();
    await expect(page).not.toHaveURL(/view=table/);
  }
});

test('T-FLOW is walked by keys along causes and effects, and leads to the conversation', async ({ page, hub }) => {
  const all = await traces(hub);
  const { id, nodes } = all.find(({ nodes }) =>
    nodes.some(({ kind, children }) => kind === 'flow' && children?.length),
  )!;
  await visit(page, hub.url(`flow/${enc(id)}`));
  const chart = page.getByRole('application');
  await chart.focus();
  await page.keyboard.press('Home');
  const hash = () => decodeURIComponent(new URL(page.url()).hash.slice(1));
  await expect.poll(hash).not.toBe('');
  await expect(page.locator('#selection')).toBeVisible();
  const parent = nodes.find(({ children }) => (children?.length ?? 0) > 0)!;
  await move(page, hub.url(`flow/${enc(id)}#${enc(`${parent.kind}:${parent.id}`)}`));
  await chart.focus();
  await page.keyboard.press('ArrowRight');
  const child = parent.children![0]!;
  await expect.poll(hash).toBe(`${child.kind}:${child.id}`);
  await page.keyboard.press('ArrowLeft');
  await expect.poll(hash).toBe(`${parent.kind}:${parent.id}`);
  await page.keyboard.press('Home');
  const before = hash();
  await page.keyboard.press('ArrowDown');
  await expect.poll(hash).not.toBe(before);
  await chart.focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/ui\/c\//);
  // And from the conversation back to its flow.
  await expect(page.getByRole('link', { name: '흐름 보기' })).toBeVisible();
  await page.keyboard.press('f');
  await expect(page).toHaveURL(/\/ui\/flow\//);
});

test('T-FLOW is enlarged by keys and by buttons, and moved by both', async ({ page, hub }) => {
  const { workSessionId } = (await everySession(hub)).find(({ threads }) => threads.length > 3)!;
  await visit(page, hub.url(`flow/${enc(workSessionId)}`));
  const size = page.locator('svg.size');
  const width = async () => Number(await size.getAttribute('width'));
  const whole = await width();
  await page.keyboard.press('+');
  await expect.poll(width).toBeGreaterThan(whole * 1.2);
  await page.keyboard.press('0');
  await expect.poll(width).toBe(whole);
  await page.getByRole('button', { name: '확대' }).click();
  await expect.poll(width).toBeGreaterThan(whole * 1.2);
  const left = () => page.getByRole('application').evaluate((box) => box.scrollLeft);
  await page.getByRole('button', { name: '확대' }).click();
  const before = await left();
  await page.keyboard.press(']');
  await expect.poll(left).toBeGreaterThan(before);
  await page.keyboard.press('[');
  await expect.poll(left).toBeLessThanOrEqual(before + 1);
  await page.getByRole('button', { name: '뒤 시간으로' }).click();
  await expect.poll(left).toBeGreaterThan(before);
  // Folding changes the address.
  const fold = page.getByRole('checkbox');
  if (await fold.isEnabled()) {
    await fold.uncheck();
    await expect(page).toHaveURL(/fold=off/);
  }
});

test('T-FLOW a run shows its question, its answer and its calls', async ({ page, hub }) => {
  const { runs } = await hub.api('runs?state=ok&limit=50');
  const run = runs.find(({ toolCalls }: { toolCalls: number }) => toolCalls > 0) ?? runs[0];
  const told = await hub.api(`runs/${enc(run.runId)}`);
  await visit(page, hub.url(`flow/${enc(run.runId)}#${enc(`run:${run.runId}`)}`));
  const selection = page.locator('section', { has: page.locator('#selection') });
  await expect(selection).toContainText(told.question.text.trim().split('\n')[0].slice(0, 40));
  if (told.answer?.text) await expect(selection).toContainText(told.answer.text.trim().split('\n')[0].slice(0, 40));
  await expect(selection).toContainText(run.model);
  await selection.getByText('모델과 도구').click();
  await expect(selection.locator('details ol > li')).toHaveCount(told.calls.length);
});

test('T-FLOW draws thousands of messages with few elements, and says what is left out', async ({
  page,
  serve,
  folder,
}) => {
  test.setTimeout(120_000);
  const lines: Line[] = [];
  for (let i = 0; i < 1500; i++) lines.push(...conversation(i * 4, 4, { session: 'ws_many', conversationId: `c${i}` }));
  await writeHome(folder, pair, lines);
  const server = await serve({ home: folder, args: ['--follow', '--clock', '2026-11-23T03:00:00Z'] });
  await visit(page, server.url('flow/ws_many'));
  const { trace } = await server.api('trace/ws_many');
  expect(trace.cut).toBe(true);
  await expect(page.getByText('여기 없는 것이 더 있습니다')).toBeVisible();
  const elements = () => page.evaluate(() => document.querySelectorAll('*').length);
  expect(await elements()).toBeLessThan(3000);
  for (const key of ['+', '+', '+', ']', ']', '+', '+']) {
    await page.keyboard.press(key);
    expect(await elements()).toBeLessThan(3000);
  }
  await page.keyboard.press('Shift+V');
  await expect(page.locator('tbody tr')).toHaveCount(100);
  await page.getByRole('button', { name: /줄 더 보기/ }).click();
  await expect(page.locator('tbody tr')).toHaveCount(200);
});

test('T-FLOW grows with the log, and stands still in the past', async ({ page, serve, folder }) => {
  await writeHome(folder, pair, conversation(0, 4));
  const server = await serve({ home: folder, args: ['--follow', '--clock', '2026-11-23T03:00:00Z'] });
  await visit(page, server.url('flow/ws_flood?view=table'));
  await page.locator('tbody button').first().click();
  const messages = page.locator('.messages li');
  await expect(messages).toHaveCount(4);
  const { appendFile } = await import('node:fs/promises');
  const { logFile, textOf } = await import('./stage/server.ts');
  const head = await server.head();
  await appendFile(logFile(folder), textOf(conversation(4, 2)));
  await expect(messages).toHaveCount(6);
  await visit(page, `${server.url(`flow/ws_flood?view=table&as_of=${head}`)}`);
  await page.locator('tbody button').first().click();
  await expect(messages).toHaveCount(4);
});

test('T-FLOW is saved as SVG, PNG and Mermaid', async ({ page, context, hub }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const [first] = await traces(hub);
  await visit(page, hub.url(`flow/${enc(first!.id)}`));
  const saved = async (name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name, exact: true }).click(),
    ]);
    return readFile(await download.path());
  };
  const svg = (await saved('SVG')).toString('utf8');
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  expect(svg).not.toMatch(/NaN|undefined/);
  expect((svg.match(/<path /g) ?? []).length).toBeGreaterThan(2);
  const png = await saved('PNG');
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  expect(png.length).toBeGreaterThan(1000);
  await page.getByRole('button', { name: 'Mermaid 복사' }).click();
  await expect(page.getByText('복사했습니다.')).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^sequenceDiagram\n {2}participant p0 as /);
});

test('T-FLOW of what does not exist says so', async ({ page, hub, faults }) => {
  faults.allow(/Failed to load resource/);
  await visit(page, hub.url('flow/ws_none'));
  await expect(page.locator('main')).toContainText(/없습니다|찾을 수 없/);
});
