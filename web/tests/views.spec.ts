import { readFile, writeFile } from 'node:fs/promises';
import { violations } from './stage/axe.ts';
import { expect, show, test, visit, watch, type Page } from './stage/test.ts';
import { copySample, type Options, type Server } from './stage/server.ts';

type View = { name: string; address: string };

/** A server with a team that does nothing meanwhile. */
async function start(serve: (options: Options) => Promise<Server>, folder: string, env: Record<string, string> = {}) {
  await copySample(folder);
  return serve({ home: folder, args: ['--follow', '--clock', '2026-02-20T12:00:00Z'], env });
}

const asPage = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json', 'X-Openclawd-Ui': '1' };

/** What the server keeps under `views`. */
async function stored(hub: Server): Promise<View[]> {
  const response = await fetch(hub.url('store/views'), { headers: asPage });
  return ((await response.json()) as { value: View[] | null }).value ?? [];
}

/** Puts something under `views`, as another program can. */
async function store(hub: Server, value: unknown) {
  const { headers } = await fetch(hub.url('store/views'), { headers: asPage });
  const response = await fetch(hub.url('store/views'), {
    method: 'PUT',
    headers: { ...asPage, 'If-Match': headers.get('ETag')! },
    body: JSON.stringify({ value }),
  });
  expect(response.status).toBe(200);
}

const sheet = (page: Page) => page.getByRole('dialog', { name: '저장한 보기' });
const field = (page: Page) => sheet(page).getByLabel('지금 보이는 조건의 이름');

async function openSheet(page: Page) {
  await page.locator('main').getByRole('button', { name: '저장한 보기' }).click();
  await expect(sheet(page)).toBeVisible();
}

/** Saves what the page shows under a name, with the keyboard. */
async function save(page: Page, name: string) {
  await openSheet(page);
  await field(page).fill(name);
  await page.keyboard.press('Enter');
  await expect(sheet(page).getByText(`“${name}” 저장함`)).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(sheet(page)).toHaveCount(0);
}

async function openPalette(page: Page, typed: string) {
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill(typed);
}

test('T-VIEWS are saved, found by all in the palette, replaced and deleted', async ({
  page,
  browser,
  serve,
  folder,
  faults,
}) => {
  faults.allow(/409/); // the second user was faster
  const hub = await start(serve, folder);
  await visit(page, hub.url('c?outcome=blocked&token=secret-of-a-link'));
  await save(page, '막힌 대화');
  await visit(page, hub.url('tasks?view=list&status=blocked'));
  await save(page, 'Stuck tasks');
  await visit(page, hub.url('log?type=a2a.send&as_of=20'));
  await save(page, '그때 보낸 것');
  expect(await stored(hub)).toEqual([
    { name: '막힌 대화', address: 'c?outcome=blocked' },
    { name: 'Stuck tasks', address: 'tasks?view=list&status=blocked' },
    { name: '그때 보낸 것', address: 'log?type=a2a.send&as_of=20' },
  ]);

  // After a reload, on another page, by Korean, by initial consonants and by English.
  await visit(page, hub.url('agents'));
  for (const [typed, name, address] of [
    ['막힌', '막힌 대화', 'c?outcome=blocked'],
    ['stuck', 'Stuck tasks', 'tasks?view=list&status=blocked'],
    ['ㄱㄸ', '그때 보낸 것', 'log?type=a2a.send&as_of=20'],
  ] as const) {
    await openPalette(page, typed);
    const option = page.getByRole('option', { name });
    await expect(option).toBeVisible();
    if (typed === 'stuck') await option.click();
    else {
      await expect(option).toHaveAttribute('aria-selected', 'true');
      await page.keyboard.press('Enter');
    }
    await expect(page).toHaveURL(hub.url(address));
  }

  // Another user sees them. Both change the list, and nothing is lost.
  const other = await browser.newContext({ locale: 'en-US', viewport: { width: 390, height: 844 } });
  await watch(other, faults);
  const second = await other.newPage();
  await visit(second, hub.url('search?q=webhook&sort=relevance'));
  await visit(page, hub.url('c?agent=eden'));
  await openSheet(page);
  await second.locator('main').getByRole('button', { name: 'Saved views' }).click();
  const theirs = second.getByRole('dialog', { name: 'Saved views' });
  await expect(theirs).toContainText('All who use this page share them.');
  await theirs.getByLabel('Name for the filters shown now').fill('Webhooks');
  await theirs.getByRole('button', { name: 'Save view' }).click();
  await expect(theirs.getByRole('link', { name: /Webhooks/ })).toBeVisible();
  await sheet(page).getByRole('button', { name: '“막힌 대화”를 지금 조건으로 바꾸기' }).click();
  await expect(field(page)).toBeFocused();
  await expect(sheet(page)).toContainText('“막힌 대화” 보기가 이미 있습니다.');
  await sheet(page).getByRole('button', { name: '보기 바꾸기' }).click();
  await expect(sheet(page).getByText('“막힌 대화” 저장함')).toBeVisible();
  await expect(sheet(page).getByRole('link', { name: /Webhooks/ })).toBeVisible();
  await expect(sheet(page).getByRole('link')).toContainText(['그때 보낸 것', '막힌 대화', 'Stuck tasks', 'Webhooks']);
  expect((await stored(hub)).map(({ address }) => address)).toEqual([
    'c?agent=eden',
    'tasks?view=list&status=blocked',
    'log?type=a2a.send&as_of=20',
    'search?q=webhook&sort=relevance',
  ]);

  // Deleted by touch, put back, and deleted with the keyboard.
  await theirs.getByRole('button', { name: 'Delete “Webhooks”' }).click();
  await expect(theirs.getByRole('button', { name: 'Undo' })).toBeFocused();
  await theirs.getByRole('button', { name: 'Undo' }).click();
  await expect(theirs.getByRole('link', { name: /Webhooks/ })).toBeVisible();
  await theirs.getByRole('button', { name: 'Delete “Webhooks”' }).press('Enter');
  await expect(theirs.getByRole('link', { name: /Webhooks/ })).toHaveCount(0);
  expect((await stored(hub)).map(({ name }) => name)).not.toContain('Webhooks');

  // The list opens them too.
  await theirs.getByRole('link', { name: /Stuck tasks/ }).click();
  await expect(second).toHaveURL(hub.url('tasks?view=list&status=blocked'));
  await expect(theirs).toHaveCount(0);
  await other.close();
});

test('T-VIEWS a viewer opens them and changes none', async ({ page, serve, folder, faults }) => {
  faults.allow(/40[13]/);
  const [viewer, write] = ['a-viewer-token-for-views', 'a-write-token-for-views'];
  await copySample(folder);
  const file = `${folder}/openclaw.json`;
  const config = await readFile(file, 'utf8');
  await writeFile(file, config.replace('{', `{ "ui": { "viewers": [{ "name": "민수", "token": "${viewer}" }] },`));
  const hub = await serve({
    home: folder,
    args: ['--follow', '--clock', '2026-02-20T12:00:00Z'],
    env: { TASK_MONITOR_WRITE_TOKEN: write },
  });
  const logIn = async (token: string) => {
    await page.getByLabel('토큰').fill(token);
    await page.getByRole('button', { name: '로그인', exact: true }).click();
    await expect(page.getByLabel('토큰')).toHaveCount(0);
  };
  await page.goto(hub.url('c?outcome=blocked'));
  await logIn(write);
  // A session that ends meanwhile is asked for, and what was to be saved is saved after the login.
  await openSheet(page);
  await page.context().clearCookies();
  await field(page).fill('막힌 대화');
  await page.keyboard.press('Enter');
  await logIn(write);
  await expect(sheet(page).getByText('“막힌 대화” 저장함')).toBeVisible();
  expect(await page.evaluate(async () => (await (await fetch('store/views')).json()).value)).toEqual([
    { name: '막힌 대화', address: 'c?outcome=blocked' },
  ]);
  await page.context().clearCookies();
  await page.goto(hub.url('agents'));
  await logIn(viewer);
  await openSheet(page);
  await expect(sheet(page)).toContainText('읽기 권한만 있는 세션은 보기를 저장하거나 지울 수 없습니다.');
  await expect(field(page)).toHaveCount(0);
  await expect(sheet(page).getByRole('button', { name: /지우기|바꾸기|저장/ })).toHaveCount(0);
  await sheet(page)
    .getByRole('link', { name: /막힌 대화/ })
    .click();
  await expect(page).toHaveURL(hub.url('c?outcome=blocked'));
  await openPalette(page, '막힌 대');
  await expect(page.getByRole('option', { name: '막힌 대화' })).toBeVisible();
});

test('T-VIEWS what another program stored opens nothing outside of the page', async ({
  page,
  serve,
  folder,
  faults,
}) => {
  faults.allow(/413/);
  const hub = await start(serve, folder);
  const hostile = [
    '//evil.test/c',
    'https://evil.test/ui/c',
    'javascript:alert(1)',
    'c/../../api/status',
    '\\\\evil.test',
  ];
  await store(hub, [
    ...hostile.map((address, index) => ({ name: `나쁜 ${index}`, address })),
    { name: '나쁜 이름\u0000', address: 'c' },
    'c',
    { name: '좋은 것', address: 'log?type=a2a.send&token=secret' },
  ]);
  await visit(page, hub.url('log'));
  await openSheet(page);
  const links = sheet(page).getByRole('link');
  await expect(links).toHaveCount(1);
  await expect(links).toHaveAttribute('href', hub.url('log?type=a2a.send'));
  await page.keyboard.press('Escape');
  await openPalette(page, '좋은');
  await expect(page.getByRole('option', { name: '좋은 것' })).toBeVisible();
  await page.getByRole('dialog').getByRole('combobox').fill('나쁜');
  await expect(page.getByRole('option', { name: /“나쁜” 검색/ })).toBeVisible();
  await expect(page.getByRole('option', { name: /나쁜 \d/ })).toHaveCount(0);
  await page.keyboard.press('Escape');

  // Where there is no room, the list says what to do.
  await page.route('**/store/views', (route) =>
    route.request().method() === 'PUT'
      ? route.fulfill({ status: 413, contentType: 'application/json', body: '{"error":"x","code":"too_large"}' })
      : route.continue(),
  );
  await openSheet(page);
  await field(page).fill('하나 더');
  await sheet(page).getByRole('button', { name: '보기 저장' }).click();
  await expect(sheet(page).getByRole('alert')).toContainText('둘 자리가 없습니다');
  await expect(field(page)).toHaveValue('하나 더');
  await page.unroute('**/store/views');

  // So many that they are found by name, and no more can be saved.
  await store(
    hub,
    Array.from({ length: 100 }, (_, index) => ({ name: `보기 ${index}`, address: 'c' })),
  );
  await visit(page, hub.url('tasks'));
  await openSheet(page);
  await sheet(page).getByLabel('보기 찾기').fill('기 42');
  await expect(links).toHaveCount(1);
  await field(page).fill('하나 더');
  await expect(sheet(page)).toContainText('보기는 100개까지입니다.');
  await expect(sheet(page).getByRole('button', { name: '보기 저장' })).toBeDisabled();
});

test('T-VIEWS of two people who use one name none overwrites or deletes what the other has just saved', async ({
  page,
  browser,
  serve,
  folder,
  faults,
}) => {
  faults.allow(/409/);
  const hub = await start(serve, folder);
  const other = await browser.newContext({ locale: 'ko-KR' });
  await watch(other, faults);
  const second = await other.newPage();
  await visit(page, hub.url('c?agent=eden'));
  await visit(second, hub.url('tasks?view=list'));
  const press = (by: Page, name: string | RegExp) => sheet(by).getByRole('button', { name }).click();
  const addresses = async () => (await stored(hub)).map(({ address }) => address);
  await openSheet(page);
  await openSheet(second);

  await field(second).fill('이름');
  await press(second, '보기 저장');
  await expect(sheet(second).getByText('“이름” 저장함')).toBeVisible();
  await field(page).fill('이름');
  await press(page, '보기 저장');
  await expect(sheet(page).getByRole('alert')).toContainText('“이름” 이름으로 방금 다른 사람이 보기를 저장했습니다.');
  expect(await addresses()).toEqual(['tasks?view=list']);
  await press(page, '보기 바꾸기'); // now it is meant
  await expect(sheet(page).getByText('“이름” 저장함')).toBeVisible();
  expect(await addresses()).toEqual(['c?agent=eden']);

  // Deleted is what one has seen.
  await press(second, '“이름” 지우기');
  await expect(sheet(second).getByRole('alert')).toContainText('방금 다른 사람이 보기를 저장했습니다.');
  expect(await addresses()).toEqual(['c?agent=eden']);
  await press(second, '“이름” 지우기');
  await expect(sheet(second).getByText('“이름” 지움')).toBeVisible();
  await field(page).fill('이름');
  await press(page, '보기 바꾸기');
  await expect(sheet(page).getByRole('alert')).toContainText('“이름” 보기를 방금 다른 사람이 지웠습니다.');
  await press(page, '보기 저장');
  await expect(sheet(page).getByText('“이름” 저장함')).toBeVisible();

  // What is put back does not replace it either.
  await press(second, '되돌리기');
  await expect(sheet(second).getByRole('alert')).toContainText('방금 다른 사람이 보기를 저장했습니다.');
  expect(await addresses()).toEqual(['c?agent=eden']);
  await other.close();
});

test('T-VIEWS what a later version has stored stays, and nothing is written where no list is', async ({
  page,
  serve,
  folder,
}) => {
  const hub = await start(serve, folder);
  const later = { name: '나중', address: 'newpage?x=1', extra: 1 };
  await store(hub, [later]);
  await visit(page, hub.url('log'));
  await save(page, '하나');
  expect(await stored(hub)).toEqual([later, { name: '하나', address: 'log' }]);
  await store(hub, { views: [later] });
  await openSheet(page);
  await expect(sheet(page).getByRole('alert')).toContainText('서버에 저장한 것을 읽을 수 없습니다.');
  await expect(field(page)).toHaveCount(0);
  expect(await stored(hub)).toEqual({ views: [later] });
});

test('T-VIEWS the field to find them in ends with what it found', async ({ page, serve, folder }) => {
  const hub = await start(serve, folder);
  await store(
    hub,
    Array.from({ length: 9 }, (_, index) => ({ name: `보기 ${index}`, address: 'c' })),
  );
  await visit(page, hub.url('c'));
  await openSheet(page);
  const [find, links] = [sheet(page).getByLabel('보기 찾기'), sheet(page).getByRole('link')];
  await find.fill('기 4');
  await expect(links).toHaveCount(1);
  await page.keyboard.press('Escape');
  await openSheet(page);
  await expect(find).toHaveValue('');
  await expect(links).toHaveCount(9);
  await find.fill('기 4');
  await sheet(page).getByRole('button', { name: '“보기 4” 지우기' }).click();
  await expect(find).toHaveCount(0);
  await expect(links).toHaveCount(8);
});

test('T-VIEWS a change that fails can be repeated, and Enter is not lost while they are read', async ({
  page,
  serve,
  folder,
  faults,
}) => {
  faults.allow(/500/);
  const hub = await start(serve, folder);
  await visit(page, hub.url('c'));
  await openSheet(page);
  await page.route('**/store/views', (route) =>
    route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":"x","code":"internal","hint":"h"}' }),
  );
  await field(page).fill('하나');
  await page.keyboard.press('Enter');
  await expect(sheet(page).getByRole('alert')).toContainText('서버에 오류가 났습니다.');
  await page.unroute('**/store/views');
  await sheet(page).getByRole('button', { name: '다시 시도' }).click();
  await expect(sheet(page).getByText('“하나” 저장함')).toBeVisible();
  await expect(sheet(page).getByRole('alert')).toHaveCount(0);
  await page.keyboard.press('Escape');

  let go = () => {};
  const wait = new Promise<void>((resolve) => (go = resolve));
  await page.route('**/store/views', async (route) => {
    if (route.request().method() === 'GET') await wait;
    await route.continue();
  });
  await openSheet(page);
  await expect(sheet(page).locator('[aria-busy="true"]')).toHaveCount(1);
  await field(page).fill('둘');
  await page.keyboard.press('Enter');
  go();
  await expect(sheet(page).getByText('“둘” 저장함')).toBeVisible();
  expect((await stored(hub)).map(({ name }) => name)).toEqual(['하나', '둘']);
});

test('T-VIEWS the list on every page that has filters, in both themes and on a phone', async ({
  page,
  serve,
  folder,
}) => {
  const hub = await start(serve, folder);
  await store(hub, [{ name: '아주 긴 이름'.repeat(11), address: 'c?outcome=blocked&as_of=20' }]);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  for (const [index, path] of ['c', 'tasks', 'log', 'search', 'agents', 'owed'].entries()) {
    await page.emulateMedia({ colorScheme: index % 2 ? 'dark' : 'light' });
    await page.setViewportSize(index % 2 ? { width: 1024, height: 720 } : { width: 320, height: 640 });
    await show(page, hub.url(path));
    await openSheet(page);
    await expect(sheet(page).getByRole('link')).toBeVisible();
    await expect(sheet(page).getByRole('link')).toContainText('대화 · seq 20');
    expect(await violations(page), path).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), path).toBeLessThanOrEqual(0);
    expect(await sheet(page).evaluate((box) => box.scrollWidth - box.clientWidth), path).toBe(0);
    await page.keyboard.press('Escape');
    await expect(page.locator('main').getByRole('button', { name: '저장한 보기' })).toBeFocused();
  }
});
