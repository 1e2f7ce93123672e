import { appendFile } from 'node:fs/promises';
import { conversation, pair } from './stage/live.ts';
import { copySample, logFile, textOf, until, writeHome } from './stage/server.ts';
import { expect, show, type Page, shown, test, visit } from './stage/test.ts';

/** Answers a path of the API with a problem until `times` is used up. */
async function refuse(
  page: Page,
  path: RegExp,
  status: number,
  body: object,
  headers: Record<string, string> = {},
  times = Infinity,
) {
  let left = times;
  await page.route(path, async (route) => {
    if (left-- <= 0) return route.fallback();
    await route.fulfill({
      status,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  });
}
const sessions = /\/ui\/api\/work-sessions\?/;
const failed = /Failed to load resource/;

test('T-STATE loading shows a skeleton, and no spinner over old data', async ({ page, hub }) => {
  let go = () => {};
  const wait = new Promise<void>((done) => (go = done));
  await page.route(/\/ui\/api\/agents(\?|$)/, async (route) => {
    await wait;
    await route.fallback();
  });
  await page.goto(hub.url('agents'));
  await expect(page.locator('main [aria-busy="true"]').first()).toBeVisible();
  go();
  await shown(page);
  await expect(page.getByText('이든').first()).toBeVisible();
});

test('T-STATE nothing ever: each page says what would be here', async ({ page, serve, folder }) => {
  await writeHome(folder, []);
  const server = await serve({ home: folder, args: ['--follow'] });
  for (const [path, text] of [
    ['', /문제가 없습니다|없습니다/],
    ['c', /아직|없습니다/],
    ['tasks', /아직|없습니다/],
    ['agents', /아직|없습니다/],
    ['search', /찾는 법/],
    ['health', /이벤트 0개/],
  ] as const) {
    await show(page, server.url(path));
    await expect(page.locator('main')).toContainText(text);
  }
});

test('T-STATE empty by filter names the filter and takes it away', async ({ page, hub }) => {
  await visit(page, hub.url('c?outcome=no_reply&agent=dajim'));
  await expect(page.locator('main .empty').first()).toBeVisible();
  await page.locator('main .empty').getByRole('button').first().click();
  await expect(page).not.toHaveURL(/outcome=no_reply&agent=dajim/);
});

test('T-STATE 202: progress of a point in time that is being built, then the data', async ({ page, hub }) => {
  await refuse(
    page,
    sessions,
    202,
    { status: 'building', done: 120, total: 400, before: 1 },
    { 'Retry-After': '1' },
    2,
  );
  await page.goto(hub.url('c?as_of=300'));
  await expect(page.getByRole('progressbar').first()).toHaveAttribute('max', '400');
  await expect(page.locator('main a[data-row]').first()).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole('progressbar')).toHaveCount(0);
});

test('T-STATE 400: no past is said, and no empty table is shown', async ({ page, hub, faults }) => {
  faults.allow(failed);
  await refuse(page, sessions, 400, { error: 'x', code: 'as_of_not_supported' });
  await page.goto(hub.url('c?as_of=300'));
  const alert = page.locator('main').getByRole('alert').first();
  await expect(alert).toBeVisible();
  await alert.getByRole('button', { name: '지금' }).first().click();
  await expect(page).not.toHaveURL(/as_of/);
});

test('T-STATE 404: which id, and that it was not there yet in the past', async ({ page, hub, faults }) => {
  faults.allow(failed);
  await page.goto(hub.url('c/ws_does_not_exist'));
  await expect(page.locator('main').getByRole('alert').first()).toBeVisible();
  await page.goto(hub.url('tasks/task_does_not_exist'));
  await expect(page.locator('main')).toContainText('task_does_not_exist');
  await page.goto(hub.url('c/ws_does_not_exist?as_of=300'));
  await expect(page.locator('main').getByRole('alert').first()).toContainText(/그때/);
});

test('T-STATE what the past does not know is said to be unknown', async ({ page, hub }) => {
  await visit(page, hub.url('?as_of=300'));
  await expect(page.locator('main')).toContainText('과거에는 알 수 없음');
});

test('T-STATE an address that is no page', async ({ page, hub }) => {
  await page.goto(hub.url('nothing/here/at/all'));
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('그런 페이지가 없습니다');
});

for (const [status, code] of [
  [503, 'behind'],
  [503, 'busy'],
] as const) {
  test(`T-STATE ${status} ${code}: counts down and tries again by itself`, async ({ page, hub, faults }) => {
    faults.allow(failed);
    await refuse(page, sessions, status, { error: 'x', code, hint: 'h' }, { 'Retry-After': '2' }, 1);
    await page.goto(hub.url('c'));
    await expect(page.locator('main').getByRole('alert').first()).toContainText(/\d+초/);
    await expect(page.locator('main a[data-row]').first()).toBeVisible({ timeout: 15_000 });
    await expect(page.locator('main').getByRole('alert')).toHaveCount(0);
  });
}

for (const [status, code] of [
  [507, 'disk_full'],
  [500, 'internal'],
  [500, 'corrupt'],
] as const) {
  test(`T-STATE ${status} ${code}: a sentence, the server's hint, and another try`, async ({ page, hub, faults }) => {
    faults.allow(failed);
    await refuse(page, sessions, status, { error: 'No space', code, hint: 'free some space' });
    await page.goto(hub.url('c'));
    const alert = page.locator('main').getByRole('alert').first();
    await expect(alert).toBeVisible();
    await alert.locator('summary').click();
    await expect(alert).toContainText('free some space');
    await expect(alert).toContainText(code);
    await page.unroute(sessions);
    await alert.getByRole('button', { name: /다시/ }).click();
    await expect(page.locator('main a[data-row]').first()).toBeVisible();
  });
}

test('T-STATE old data stays below an error, marked with its seq', async ({ page, serve, folder, faults }) => {
  faults.allow(failed);
  await writeHome(folder, pair, conversation(0, 6));
  const server = await serve({ home: folder, args: ['--follow'] });
  await visit(page, server.url('c?cat=all'));
  await expect(page.locator('main a[data-row]').first()).toBeVisible();
  await refuse(page, sessions, 503, { error: 'x', code: 'busy' }, { 'Retry-After': '60' });
  await appendFile(logFile(folder), textOf(conversation(6, 2)));
  await expect(page.locator('main').getByRole('alert').first()).toBeVisible();
  await expect(page.locator('main a[data-row]').first()).toBeVisible();
  await expect(page.locator('main .stale').first()).toContainText('seq');
});

test('T-STATE 401: the login lies over the page, which stays, and then goes on', async ({
  page,
  serve,
  folder,
  faults,
}) => {
  faults.allow(failed, /WebSocket connection/);
  await copySample(folder);
  const token = 'a-token-of-enough-characters-0123456789';
  const server = await serve({
    home: folder,
    args: ['--follow', '--clock', '2026-02-20T12:00:00Z'],
    env: { TASK_MONITOR_WRITE_TOKEN: token },
  });
  await page.goto(server.url('agents'));
  await expect(page.getByRole('dialog', { name: '로그인' })).toBeVisible();
  await page.getByLabel('토큰').fill(token);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await shown(page);
  await expect(page.getByText('이든').first()).toBeVisible();
  await expect(page).toHaveURL(server.url('agents'));
});

test('T-STATE follow mode and a log with lines that cannot be read have their page', async ({
  page,
  serve,
  folder,
}) => {
  await writeHome(folder, pair, conversation(0, 6));
  await appendFile(logFile(folder), '{"broken\n');
  const server = await serve({ home: folder, args: ['--follow'] });
  await until(async () => (await server.api('status')).badLines === 1, 'the line that cannot be read');
  for (const path of ['', 'c', 'tasks', 'agents', 'health']) await show(page, server.url(path));
  const fact = page.locator('main .fact').filter({ hasText: '읽지 못한 줄' });
  await expect(fact.locator('dd')).toHaveText(/^\s*1\s*$/);
});

test('T-STATE a parked projection is said on every page, also in the past, and leads to the health page', async ({
  page,
  hub,
}) => {
  const parked = {
    kind: 'not_ready',
    severity: 'error',
    id: 'not_ready projection_parked',
    code: 'projection_parked',
    reason: 'Projection tasks is parked',
    refs: {},
    fields: { hint: 'openclawd projections resume tasks' },
    actions: [],
  };
  let stands = true;
  await page.route(/\/ui\/api\/problems\?/, async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    // It is the server's own state: what the past had for problems does not tell it.
    if (stands && !route.request().url().includes('as_of')) {
      Object.assign(body, { problems: [{ ...body.problems[0], ...parked }, ...body.problems], total: body.total + 1 });
    }
    await route.fulfill({ response: answer, json: body, headers: { ...answer.headers(), etag: '' } });
  });
  const bar = page.getByRole('alert').filter({ hasText: '로그를 읽는 표 하나가 멈췄습니다.' });
  for (const path of ['', 'c', 'tasks', 'agents', 'search', 'health', 'c?as_of=300', 'agents?as_of=300']) {
    await show(page, hub.url(path));
    await expect(bar).toHaveCount(1);
  }
  // The count is that of the time that is shown.
  const { total } = await hub.api('problems?as_of=300&limit=1');
  const badge = page.locator('nav .badge').first();
  if (total > 0) await expect(badge).toHaveText(String(total));
  else await expect(badge).toHaveCount(0);
  await page.getByRole('button', { name: '지금으로' }).first().click();
  await expect(badge).toHaveText(String((await hub.api('problems?limit=1')).total + 1));
  await bar.getByRole('link').click();
  await expect(page).toHaveURL(/\/ui\/health/);
  stands = false;
  await page.reload();
  await shown(page);
  await expect(bar).toHaveCount(0);
});

test('T-STATE more problems than a page holds: how many, and a way to all of them', async ({ page, serve, folder }) => {
  const conversations = 250;
  const lines = Array.from({ length: conversations }, (_, index) => {
    const common = {
      fromAgent: 'eden',
      toAgent: 'seum',
      conversationId: `stuck-${index}`,
      workSessionId: `ws_stuck_${index}`,
      eventRole: 'conversation.main',
      fromSessionType: 'main',
      toSessionType: 'main',
    };
    const ts = Date.now() - (conversations - index) * 1000;
    return [
      { type: 'a2a.send', agentId: 'eden', ts, data: { ...common, message: `질문 ${index}`, runId: `run-${index}` } },
      { type: 'a2a.complete', agentId: 'eden', ts: ts + 1, data: { ...common, outcome: 'no_reply' } },
    ];
  }).flat();
  await writeHome(folder, pair, lines);
  const server = await serve({ home: folder, args: ['--follow'] });
  await until(async () => (await server.api('problems')).counts.no_reply === conversations, 'the import');
  const { total } = await server.api('problems');
  await visit(page, server.url());
  const rows = page.locator('main li').filter({ has: page.locator('a[data-row]') });
  await expect(rows).toHaveCount(100);
  await expect(page.locator('main')).toContainText(`${total}개 가운데 1–100번째`);
  await expect(page.locator('main')).toContainText(`${total - 100}개 더 있습니다`);

  const seen = new Set<string>();
  const collect = async () => {
    for (const link of await rows
      .locator('a[data-row]')
      .evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href)))
      seen.add(link);
  };
  await collect();
  await page.getByRole('link', { name: '다음 100개' }).click();
  await expect(page).toHaveURL(/[?&]from=100/);
  await expect(page.locator('main')).toContainText(`${total}개 가운데 101–200번째`);
  await collect();
  await page.getByRole('link', { name: /^다음/ }).click();
  await expect(page.locator('main')).toContainText(`${total}개 가운데 201–${total}번째`);
  await expect(page.getByRole('link', { name: /^다음/ })).toHaveCount(0);
  await collect();
  const asked = [0, 100, 200].map((offset) => server.api(`problems?limit=100&offset=${offset}`));
  const all = (await Promise.all(asked)).flatMap(({ problems }) => problems);
  expect(all).toHaveLength(total);
  expect(all.filter(({ kind }) => kind === 'no_reply')).toHaveLength(conversations);
  expect([...seen].filter((link) => link.includes('/c/ws_stuck_'))).toHaveLength(conversations);

  await page.goBack();
  await expect(page.locator('main')).toContainText(`${total}개 가운데 101–200번째`);
  await page.getByRole('link', { name: '앞의 100개' }).click();
  await expect(page.locator('main')).toContainText(`${total}개 가운데 1–100번째`);
  await visit(page, server.url('?from=9000'));
  await expect(page.locator('main')).toContainText('이 뒤에는 문제가 없습니다');
  await expect(page.getByRole('link', { name: '앞의 100개' })).toBeVisible();
});

test('T-STATE problems that cannot be known are no problems that are not there', async ({ page, hub, faults }) => {
  faults.allow(failed);
  await refuse(page, /\/ui\/api\/problems\?/, 500, { error: 'x', code: 'corrupt' });
  await visit(page, hub.url('agents'));
  await expect(page.getByRole('alert').filter({ hasText: 'corrupt' })).toBeVisible();
});

test('T-STATE 409: what has changed meanwhile is said, and nothing is overwritten', async ({ page, hub, faults }) => {
  faults.allow(failed);
  await refuse(page, /\/category$/, 409, { error: 'It has changed', code: 'conflict', hint: 'look again' }, {}, 1);
  const { sessions: all } = await hub.api('work-sessions?limit=1');
  await visit(page, hub.url(`c/${encodeURIComponent(all[0].workSessionId)}`));
  const category = page.locator('.category').last();
  await category.getByRole('button', { name: '바꾸기' }).click();
  let sent = 0;
  page.on('request', (request) => {
    if (request.method() === 'PATCH') sent++;
  });
  // The keys of a list choose; the button decides.
  const list = category.getByRole('combobox');
  await list.focus();
  const before = await list.inputValue();
  await page.keyboard.press(before === 'engineering_build' ? 'ArrowDown' : 'ArrowUp');
  await expect(list).not.toHaveValue(before);
  expect(sent).toBe(0);
  await category.getByRole('button', { name: '이 범주로' }).click();
  await expect(category.getByRole('alert')).toContainText('그 사이에 바뀌었습니다.');
  expect(sent).toBe(1);
  await expect(list).toBeEnabled();
});

test('T-STATE 421: a name that the server does not know is said with what to do', async ({ page, hub, faults }) => {
  faults.allow(failed);
  const hint = 'allow it with --allow-host';
  await refuse(page, sessions, 421, { error: 'x', code: 'unknown_host', hint });
  await page.goto(hub.url('c'));
  const alert = page.locator('main').getByRole('alert').first();
  await expect(alert).toContainText('서버가 이 호스트 이름을 모릅니다.');
  await alert.locator('summary').click();
  await expect(alert).toContainText(hint);
});

test('T-STATE a server that cannot be reached at the start is waited for', async ({ page, hub, faults }) => {
  faults.allow(failed);
  let refusing = true;
  await page.route(/\/ui\/session$/, (route) => (refusing ? route.abort() : route.fallback()));
  await page.goto(hub.url());
  await expect(page.getByRole('alert')).toContainText('서버');
  refusing = false;
  await expect(page.getByRole('alert').filter({ hasText: '서버에 닿지' })).toHaveCount(0, { timeout: 15_000 });
  await shown(page);
});
