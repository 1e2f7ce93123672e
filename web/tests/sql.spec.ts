import { readFile } from 'node:fs/promises';
import { violations } from './stage/axe.ts';
import { expect, test, visit, watch, type Page } from './stage/test.ts';
import { devices, Hands } from './stage/hands.ts';
import { copySample, type Server } from './stage/server.ts';

const adminToken = 'administrator-of-this-test-0123456789';

/** A server that allows SQL, with a team that does nothing meanwhile. */
async function start(serve: (options: object) => Promise<Server>, folder: string) {
  await copySample(folder);
  return serve({
    home: folder,
    args: ['--follow', '--clock', '2026-02-20T12:00:00Z'],
    env: { OPENCLAWD_ADMIN_TOKEN: adminToken },
  });
}

/** What the API answers to the same statement. */
async function askAPI(hub: Server, sql: string, asOf?: number) {
  const response = await fetch(`${hub.origin}/api/sql${asOf === undefined ? '' : `?as_of=${asOf}`}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${adminToken}` },
    body: JSON.stringify({ sql }),
  });
  return { status: response.status, body: await response.json() };
}

async function becomeAdmin(page: Page) {
  await page.getByLabel('관리자 토큰').fill(adminToken);
  await page.getByRole('button', { name: '15분 동안 관리자 되기' }).click();
  await expect(editorOf(page)).toBeVisible();
}

const editorOf = (page: Page) => page.getByRole('textbox', { name: 'SQL 문' });

/** Writes a statement over what is there and runs it by its key. */
async function run(page: Page, sql: string) {
  await editorOf(page).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(sql);
  await page.keyboard.press('Control+Enter');
}

for (const device of devices) {
  test(`T-KLM 13 an unforeseen question, with a chart: two (${device})`, async ({ page, serve, folder }) => {
    const hub = await start(serve, folder);
    const hands = await Hands.at(page, device);
    await visit(page, hub.url('sql'));
    await becomeAdmin(page);
    await visit(page, hub.url());
    await hands.open('SQL', 's');
    await hands.click(page.getByRole('button', { name: '날짜별 이벤트 수' }));
    const row = page.locator('main table tbody tr').first();
    await expect(row).toBeInViewport();
    await expect(row).toContainText(/^\d{4}-\d{2}-\d{2}/);
    await expect(page.getByRole('tab', { name: '차트' })).toBeInViewport();
    expect(hands.cost).toBe(2 + hands.extra);
  });
}

test('T-SQL 1 explains where it is off, and loads no editor', async ({ page, hub }) => {
  const scripts: string[] = [];
  page.on('request', (request) => scripts.push(new URL(request.url()).pathname.split('/').at(-1)!));
  await visit(page, hub.url('sql'));
  await expect(page.locator('main')).toContainText('이 서버에서는 SQL이 꺼져 있습니다');
  await expect(page.locator('main')).toContainText('OPENCLAWD_ADMIN_TOKEN');
  expect(scripts).toContain('sql.js');
  expect(scripts).not.toContain('editor.js');
});

test('T-SQL 2 wants an administrator, asks, draws and downloads', async ({ page, serve, folder, faults }) => {
  faults.allow(/401|403|400/); // refused statements and tokens
  const hub = await start(serve, folder);
  const scripts: string[] = [];
  page.on('request', (request) => scripts.push(new URL(request.url()).pathname.split('/').at(-1)!));
  await visit(page, hub.url('sql'));
  await page.getByLabel('관리자 토큰').fill('wrong-token-of-this-test-0123456789');
  await page.getByRole('button', { name: '15분 동안 관리자 되기' }).click();
  await expect(page.getByRole('alert')).not.toBeEmpty();
  expect(scripts).not.toContain('editor.js');
  await becomeAdmin(page);
  expect(page.url()).not.toContain(adminToken);

  // A built-in question, by one click; the table has what the API answers.
  await page.getByRole('button', { name: '날짜별 이벤트 수' }).click();
  await expect(page.locator('main table tbody tr').first()).toBeVisible();
  const sql = (await editorOf(page).innerText()).replaceAll('\u00a0', ' ');
  const { body } = await askAPI(hub, sql);
  expect(body.rows.length).toBeGreaterThan(1);
  const shown = await page
    .locator('main table tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.innerText)));
  expect(shown).toEqual(body.rows.map((row: unknown[]) => row.map(String)));
  await expect(page).toHaveURL(/[?&]s=v_event_counts/);

  // The chart has a canvas and says what it shows.
  await page.getByRole('tab', { name: '차트' }).click();
  await expect(page.getByRole('img', { name: /day에 따른 events/ })).toBeVisible();
  await expect(page.locator('main canvas')).toBeVisible();
  await page.getByRole('tab', { name: '표' }).click();

  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()]);
  const csv = await readFile((await file.path())!, 'utf8');
  expect(csv.split('\r\n')[0]).toBe('day,events');
  expect(csv.split('\r\n').length).toBe(body.rows.length + 2);

  // Integers keep their digits; the button runs as the key does.
  await run(page, 'SELECT 9007199254740993 AS big, NULL AS none');
  await expect(page.locator('main table td').first()).toHaveText('9007199254740993');
  await expect(page.locator('main table td').nth(1)).toHaveText('NULL');
  await page.getByRole('button', { name: /^실행 Ctrl/ }).click();
  await expect(page.locator('main table td').first()).toHaveText('9007199254740993');

  // More rows than were asked for are announced.
  await run(page, 'WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < 3000) SELECT i FROM n');
  await expect(page.getByRole('alert')).toContainText('1,000');
  await expect(page.locator('main table tbody tr')).toHaveCount(200);
  await page.getByRole('button', { name: '500행 더 보기' }).click();
  await expect(page.locator('main table tbody tr')).toHaveCount(700);
});

test('T-SQL 3 shows what is refused, and the server stays well', async ({ page, serve, folder, faults }) => {
  faults.allow(/40\d|42\d|50\d/);
  const hub = await start(serve, folder);
  await visit(page, hub.url('sql'));
  await becomeAdmin(page);
  const head = await hub.head();
  for (const [sql, code, sentence] of [
    ["ATTACH 'other.db' AS other", 'sql_refused', '허용되지 않는 SQL입니다.'],
    ['PRAGMA query_only=0', 'sql_refused', '허용되지 않는 SQL입니다.'],
    ['DELETE FROM events', 'sql_refused', '허용되지 않는 SQL입니다.'],
    ['SELECT * FROM no_such_table', 'sql_error', 'SQL에 오류가 있습니다.'],
    [
      'WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n',
      'sql_timeout',
      '정해진 시간 안에 끝나지 않아 멈췄습니다.',
    ],
  ] as const) {
    const { status, body } = await askAPI(hub, sql);
    expect(status, sql).toBeGreaterThanOrEqual(400);
    expect(body.code, sql).toBe(code);
    await run(page, sql);
    await expect(page.locator('main .result').getByRole('alert').first(), sql).toContainText(sentence, {
      timeout: 20_000,
    });
  }
  expect(await hub.head()).toBe(head);
  expect((await fetch(`${hub.origin}/readyz`)).status).toBe(200);
  await run(page, 'SELECT 1 AS one');
  await expect(page.locator('main table td').first()).toHaveText('1');
});

test('T-SQL 4 keeps questions by name, and asks about the past', async ({ page, serve, folder }) => {
  const hub = await start(serve, folder);
  await visit(page, hub.url('sql'));
  await becomeAdmin(page);
  await run(page, 'SELECT max(seq) AS head FROM events');
  const head = await hub.head();
  await expect(page.locator('main table td').first()).toHaveText(String(head));
  await page.getByLabel('저장할 이름').fill('머리');
  await page.getByRole('button', { name: '저장', exact: true }).click();
  await expect(page.getByRole('button', { name: '머리', exact: true })).toBeVisible();

  // The palette has it on every page, and the built-in ones too.
  await visit(page, hub.url('tasks'));
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog');
  await palette.getByRole('combobox').fill('날짜별');
  await expect(palette.getByRole('option', { name: '날짜별 이벤트 수' })).toBeVisible();
  await palette.getByRole('combobox').fill('머리');
  await palette.getByRole('option', { name: '머리', exact: true }).click();
  await expect(page).toHaveURL(/\/sql\?s=/);
  await expect(editorOf(page)).toHaveText('SELECT max(seq) AS head FROM events');

  await page.goto(hub.url('sql?as_of=20'));
  await page.getByRole('button', { name: '머리', exact: true }).click();
  await expect(page.locator('main table td').first()).toHaveText('20', { timeout: 20_000 });
  expect((await askAPI(hub, 'SELECT max(seq) AS head FROM events', 20)).body.rows).toEqual([[20]]);

  await page.getByRole('button', { name: '“머리” 지우기' }).click();
  await expect(page.getByRole('button', { name: '머리', exact: true })).toHaveCount(0);
});

/** The questions that the server keeps, by name. */
async function sharedNames(hub: Server): Promise<string[]> {
  const response = await fetch(hub.url('store/queries'), { headers: { 'Sec-Fetch-Site': 'same-origin' } });
  const { value } = (await response.json()) as { value: { name: string }[] | null };
  return (value ?? []).map(({ name }) => name).sort();
}

/** Saves a statement under a name. */
async function save(page: Page, name: string, sql: string) {
  await run(page, sql);
  await page.getByLabel('저장할 이름').fill(name);
  await page.getByRole('button', { name: '저장', exact: true }).click();
  await expect(page.getByRole('button', { name, exact: true })).toBeVisible();
}

test('T-SQL 5 shares questions with everyone, and two who save at a time lose nothing', async ({
  page,
  browser,
  serve,
  folder,
  faults,
}) => {
  faults.allow(/40[49]/);
  const hub = await start(serve, folder);
  const other = await browser.newContext();
  await watch(other, faults);
  const second = await other.newPage();
  await visit(page, hub.url('sql'));
  await becomeAdmin(page);
  await save(page, '머리', 'SELECT 1');
  expect(await sharedNames(hub)).toEqual(['머리']);

  // What the other browser had is taken over once; another question with a name that is taken gets a name of its own.
  await visit(second, hub.url('sql'));
  await second.evaluate(() => {
    const list = [
      { name: '머리', sql: 'SELECT 7' },
      { name: '꼬리', sql: 'SELECT 8' },
    ];
    localStorage.setItem('sql.saved', JSON.stringify(list));
  });
  await visit(second, hub.url('sql?s=머리'));
  await becomeAdmin(second);
  await expect(second.getByRole('button', { name: '머리 (2)', exact: true })).toBeVisible();
  await expect(editorOf(second)).toHaveText('SELECT 1');
  await expect.poll(() => sharedNames(hub)).toEqual(['꼬리', '머리', '머리 (2)']);
  expect(await second.evaluate(() => localStorage.getItem('sql.saved'))).toBeNull();

  // Neither knows of what the other one saves; both are kept, and both are shown.
  await save(page, '하나', 'SELECT 11');
  await save(second, '둘', 'SELECT 12');
  expect(await sharedNames(hub)).toEqual(['꼬리', '둘', '머리', '머리 (2)', '하나']);
  await expect(second.getByRole('button', { name: '하나', exact: true })).toBeVisible();
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await expect(page.getByRole('button', { name: '둘', exact: true })).toBeVisible();

  // What one removes is gone for both, and does not come back.
  await page.getByRole('button', { name: '“머리 (2)” 지우기' }).click();
  await expect.poll(() => sharedNames(hub)).toEqual(['꼬리', '둘', '머리', '하나']);
  await visit(second, hub.url('sql'));
  await expect(second.getByRole('button', { name: '하나', exact: true })).toBeVisible();
  await expect(second.getByRole('button', { name: '머리 (2)', exact: true })).toHaveCount(0);

  // Where the server keeps nothing, the browser does, and shares it later.
  const off = (url: URL) => url.pathname.endsWith('/store/queries');
  await page.route(off, (route) =>
    route.fulfill({ status: 404, contentType: 'application/json', body: '{"error":"x","code":"not_found"}' }),
  );
  await visit(page, hub.url('sql'));
  await save(page, '여기', 'SELECT 13');
  await expect(page.locator('aside')).toContainText('이 브라우저에만');
  expect(await sharedNames(hub)).not.toContain('여기');
  await page.unroute(off);
  await visit(page, hub.url('sql'));
  await expect.poll(() => sharedNames(hub)).toContain('여기');
  await expect(page.getByRole('button', { name: '여기', exact: true })).toBeVisible();
  await other.close();
});

test('T-AXE sql with an answer, as a table and as a chart, wide and narrow', async ({ page, serve, folder }) => {
  const hub = await start(serve, folder);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await visit(page, hub.url('sql'));
  await becomeAdmin(page);
  await page.getByRole('button', { name: '날짜별 이벤트 수' }).click();
  await expect(page.locator('main table')).toBeVisible();
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const tab of ['표', '차트']) {
      await page.emulateMedia({ colorScheme });
      await page.getByRole('tab', { name: tab }).click();
      expect(await violations(page), `${tab} ${colorScheme}`).toEqual([]);
    }
  }
  await page.setViewportSize({ width: 320, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
});
