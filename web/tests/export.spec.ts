import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { corpus } from './stage/corpus.ts';
import { type Line, writeHome } from './stage/server.ts';
import { expect, type Page, test, visit } from './stage/test.ts';
import { enc } from './stage/tour.ts';

/** Clicks a format and returns what was downloaded. */
async function download(page: Page, format: string): Promise<{ name: string; text: string }> {
  const buttons = page.getByRole('group', { name: '내보내기' });
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    buttons.getByRole('button', { name: format, exact: true }).click(),
  ]);
  return { name: file.suggestedFilename(), text: await readFile((await file.path())!, 'utf8') };
}

test('T-EXPORT a conversation as Markdown, JSON and one HTML file that opens without a server', async ({
  page,
  hub,
  folder,
  browser,
}) => {
  const { problems } = await hub.api('problems');
  const { ws } = problems[0].refs;
  await visit(page, hub.url(`c/${enc(ws)}?cat=all`));
  await expect(page.locator('article.message').first()).toBeVisible();
  const { session } = await hub.api(`work-sessions/${enc(ws)}`);
  const said = session.threads
    .flatMap(({ events }: { events: any[] }) => events)
    .filter(
      ({ type, eventRole }: { type: string; eventRole: string }) =>
        type === 'a2a.send' && eventRole === 'conversation.main',
    );
  expect(said.length).toBeGreaterThan(1);

  const json = await download(page, 'JSON');
  expect(JSON.parse(json.text).events.map(({ seq }: { seq: number }) => seq)).toEqual(
    expect.arrayContaining(said.map(({ seq }: { seq: number }) => seq)),
  );
  const markdown = await download(page, 'Markdown');
  for (const { seq } of said) expect(markdown.text).toContain(`seq ${seq}`);

  const html = await download(page, 'HTML');
  expect(html.name).toMatch(/\.html$/);
  const file = join(folder, 'conversation.html');
  await writeFile(file, html.text);
  const alone = await browser.newContext();
  const reader = await alone.newPage();
  const requests: string[] = [];
  reader.on('request', (request) => requests.push(request.url()));
  await reader.goto(pathToFileURL(file).href);
  await expect(reader.getByRole('heading', { level: 1 })).toHaveText(session.title);
  for (const { seq } of said) await expect(reader.locator(`#e${seq}`)).toBeVisible();
  expect(requests).toEqual([pathToFileURL(file).href]);
  await alone.close();
});

test('T-EXPORT hostile texts do nothing in the HTML file', async ({ page, serve, folder, browser }) => {
  const at = Date.parse('2026-11-23T01:00:00Z');
  const lines: Line[] = corpus.map((text, index) => ({
    type: 'a2a.send',
    agentId: 'eden',
    ts: at + index * 1000,
    data: {
      fromAgent: 'eden',
      toAgent: 'seum',
      workSessionId: 'ws_hostile',
      conversationId: 'conv-hostile',
      eventRole: 'conversation.main',
      fromSessionType: 'main',
      toSessionType: 'main',
      message: text,
    },
  }));
  const agents = [
    { id: 'eden', name: '이든 <img src=x onerror=alert(1)>' },
    { id: 'seum', name: '세움 "onload="' },
  ];
  await writeHome(folder, agents, lines);
  const hub = await serve({ home: folder, args: ['--follow', '--clock', '2026-11-23T03:00:00Z'] });
  await visit(page, hub.url('c/ws_hostile?cat=all'));
  await expect(page.locator('article.message').first()).toBeVisible();
  const { text } = await download(page, 'HTML');
  const file = join(folder, 'hostile.html');
  await writeFile(file, text);
  const alone = await browser.newContext();
  const reader = await alone.newPage();
  const faults: string[] = [];
  reader.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  reader.on('request', (request) => {
    if (request.url() !== pathToFileURL(file).href) faults.push(`request: ${request.url()}`);
  });
  await reader.goto(pathToFileURL(file).href);
  await expect(reader.locator('article').first()).toBeVisible();
  expect(await reader.locator('article').count()).toBeGreaterThan(100);
  expect(
    await reader.locator('script, iframe, object, embed, form, img, svg, [onerror], [onload], [onclick]').count(),
  ).toBe(0);
  expect(await reader.evaluate(() => (window as { __pwned?: unknown }).__pwned)).toBeUndefined();
  expect(faults).toEqual([]);
  await alone.close();
});
