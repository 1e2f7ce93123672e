import { devices, Hands } from './stage/hands.ts';
import { violations } from './stage/axe.ts';
import { mkdir, writeFile } from 'node:fs/promises';
import { copySample, writeHome } from './stage/server.ts';
import { test } from './stage/team.ts';
import { expect, show, type Page, visit } from './stage/test.ts';

const detail = (page: Page) => page.locator('[data-item]');

test('T-INBOX approve: five seconds later it is decided, with the name', async ({ page, working }) => {
  const team = await working();
  const id = await team.waits('결제 배포');
  await visit(page, team.server.url());
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await expect(detail(page).getByRole('heading', { name: '결제 배포' })).toBeVisible();
  await expect(detail(page).locator('.links')).toContainText(/요청한 곳\s*이든/);
  await expect(detail(page).locator('.links')).not.toContainText('agent:eden');
  await detail(page).getByLabel('결정하는 사람').fill('병욱');
  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('a');
  await expect(detail(page).getByText(/초 뒤 승인/)).toBeVisible();
  expect((await team.server.api('approvals')).total).toBe(1);
  await expect(detail(page).getByText('승인됨 · 병욱')).toBeVisible({ timeout: 15_000 });
  const decided = await team.eventTypes('task.approved');
  expect(decided.map(({ data }) => [data.taskId, data.decidedBy])).toEqual([[id, '병욱']]);
  await page.getByRole('tab', { name: '결정한 것' }).click();
  await expect(page).toHaveURL(/tab=decided/);
  await expect(page.locator('main li').filter({ hasText: '결제 배포' })).toContainText('병욱');
});

test('T-INBOX undo within five seconds sends nothing, and stays while it is hovered', async ({ page, working }) => {
  const team = await working();
  await team.waits('되돌릴 일');
  const posts: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(request.url());
  });
  await visit(page, team.server.url('inbox'));
  await detail(page).getByRole('button', { name: '승인', exact: true }).click();
  const undo = detail(page).getByRole('button', { name: '취소' });
  await undo.hover();
  await expect(detail(page).getByText('기다리는 중')).toBeVisible();
  await expect.poll(async () => undo.isVisible(), { intervals: [6000], timeout: 8000 }).toBe(true);
  expect(posts).toEqual([]);
  await page.keyboard.press('u');
  await expect(detail(page).getByRole('button', { name: '승인', exact: true })).toBeVisible();
  expect(posts).toEqual([]);
  expect((await team.server.api('approvals')).total).toBe(1);
});

test('T-INBOX reject wants a reason, and offers recent ones', async ({ page, working }) => {
  const team = await working();
  await team.waits('첫 일');
  await team.waits('둘째 일');
  await visit(page, team.server.url('inbox'));
  await page.keyboard.press('x');
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByLabel('거절하는 이유')).toBeFocused();
  await expect(dialog.getByRole('button', { name: '거절' })).toBeDisabled();
  await page.keyboard.type('작게 나누세요');
  await dialog.getByRole('button', { name: '거절' }).click();
  await expect(page.locator('main li').filter({ hasText: '첫 일' })).toContainText('거절됨', { timeout: 15_000 });
  const [event] = (await team.eventTypes('task.cancelled')).slice(-1);
  expect(event!.data.reason).toBe('작게 나누세요');
  await page.locator('main a[data-row]').filter({ hasText: '둘째 일' }).click();
  await detail(page).getByRole('button', { name: '거절' }).click();
  await dialog.getByRole('button', { name: '작게 나누세요' }).click();
  await expect(dialog.getByLabel('거절하는 이유')).toHaveValue('작게 나누세요');
});

test('T-INBOX what was rejected shows why: its item, its task, and its work session, in which no agent spoke', async ({
  page,
  working,
}) => {
  const team = await working();
  const id = await team.waits('결제 배포');
  await visit(page, team.server.url(`inbox/${id}`));
  await expect(detail(page).getByLabel('결정하는 사람')).toBeVisible();
  await detail(page).getByRole('button', { name: '거절' }).click();
  await page.keyboard.type('월요일에 하세요');
  await page.getByRole('dialog').getByRole('button', { name: '거절' }).click();
  await expect(detail(page).getByText('월요일에 하세요')).toBeVisible({ timeout: 15_000 });
  await expect(detail(page).getByLabel('결정하는 사람')).toHaveCount(0);
  await detail(page).getByRole('link', { name: '작업 보기' }).click();
  await expect(page.getByRole('heading', { name: '이유', exact: true })).toBeVisible();
  await page.getByRole('link', { name: '대화 보기' }).click();
  await expect(page.locator('.thread').getByText('월요일에 하세요')).toBeVisible();
  await expect(page.getByRole('button', { name: '과정' })).toHaveCount(0);
});

test('T-INBOX two tabs: the slower one is told who decided, and when', async ({ page, context, working, faults }) => {
  faults.allow(/409/);
  const team = await working();
  await team.waits('함께 볼 일');
  await visit(page, team.server.url('inbox'));
  const other = await context.newPage();
  await visit(other, team.server.url('inbox'));
  await expect(detail(page).getByRole('button', { name: '승인', exact: true })).toBeVisible();
  // The second tab decides while the first one holds its decision back.
  await detail(page).getByRole('button', { name: '승인', exact: true }).click();
  const { approvals } = await team.server.api('approvals');
  const answer = await fetch(`${team.server.origin}/api/approvals/${approvals[0].id}/reject`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ by: '민수', reason: '먼저 봤다' }),
  });
  expect(answer.status).toBe(200);
  await expect(page.locator('main li').filter({ hasText: '함께 볼 일' })).toContainText('거절됨 · 민수', {
    timeout: 15_000,
  });
  await expect(detail(page)).toContainText('먼저 봤다');
  // A deep link to it says the same.
  await visit(other, team.server.url(`inbox/${approvals[0].id}`));
  await expect(detail(other)).toContainText('거절됨 · 민수');
});

test('T-INBOX several at once, after one confirmation that lists them', async ({ page, working }) => {
  const team = await working();
  for (const title of ['하나', '둘', '셋']) await team.waits(title);
  await visit(page, team.server.url('inbox'));
  await page.getByLabel('고르기: 하나').check();
  await page.getByLabel('고르기: 셋').check();
  await page.getByRole('button', { name: '2개 승인' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.locator('li')).toHaveText([/하나/, /셋/]);
  await dialog.getByRole('button', { name: '2개 승인' }).click();
  await expect(dialog.locator('li')).toHaveText([/하나.*승인함/, /셋.*승인함/]);
  await dialog.getByRole('button', { name: '닫기' }).last().click();
  const { approvals } = await team.server.api('approvals');
  expect(approvals.map(({ title }: { title: string }) => title)).toEqual(['둘']);
});

test('T-INBOX follow mode says who decides', async ({ page, serve, folder }) => {
  await copySample(folder);
  const hub = await serve({ home: folder, args: ['--follow', '--clock', '2026-02-20T12:00:00Z'] });
  await visit(page, hub.url('inbox'));
  await expect(page.locator('main')).toContainText('다른 게이트웨이');
  await expect(detail(page).getByRole('button', { name: '승인', exact: true })).toBeDisabled();
  const { tasks } = await hub.api('tasks?limit=1');
  await visit(page, hub.url(`tasks/${tasks[0].id}`));
  await expect(page.getByRole('button', { name: '작업 취소' })).toBeDisabled();
});

test('T-KLM 4 approve from anywhere: two; from a phone two taps, and one from a link', async ({ page, working }) => {
  const team = await working();
  await team.waits('밤에 온 일');
  await team.waits('두 번째 일');
  const last = await team.waits('링크로 온 일');
  await page.setViewportSize({ width: 1440, height: 900 });
  await visit(page, team.server.url('health'));
  await page.keyboard.press('g');
  await page.keyboard.press('i'); // one shortcut of two letters
  await expect(detail(page).getByRole('button', { name: '승인', exact: true })).toBeVisible();
  await page.keyboard.press('a');
  await expect(detail(page).getByText(/초 뒤 승인/)).toBeVisible();

  await page.setViewportSize({ width: 390, height: 844 });
  await expect(page.locator('main li').filter({ hasText: '밤에 온 일' })).toContainText('승인됨', {
    timeout: 15_000,
  });
  await visit(page, team.server.url());
  await page.getByRole('link', { name: '수신함' }).last().click();
  const row = page.locator('main li').filter({ hasText: '두 번째 일' });
  await row.getByRole('button', { name: '승인', exact: true }).click();
  await expect(row.getByText(/초 뒤 승인/)).toBeInViewport();
  await expect(row).toContainText('승인됨', { timeout: 15_000 });

  await visit(page, team.server.url(`inbox/${last}`));
  await detail(page).getByRole('button', { name: '승인', exact: true }).click();
  await expect(detail(page).getByText(/초 뒤 승인/)).toBeInViewport();
  await expect(detail(page)).toContainText('승인됨', { timeout: 15_000 });
  expect((await team.server.api('approvals')).total).toBe(0);
});

for (const device of devices) {
  test(`T-KLM 14 try it again, or take it back: two (${device})`, async ({ page, working }) => {
    const team = await working();
    await team.blocked('막힌 일');
    await team.blocked('또 막힌 일', 'eden');
    await team.blocked('셋째 막힌 일', 'eden');
    await expect.poll(async () => (await team.server.api('problems?kind=dead')).counts.dead ?? 0).toBe(3);
    const hands = await Hands.at(page, device);
    await visit(page, team.server.url());
    await expect(
      page
        .getByRole('navigation')
        .first()
        .getByRole('link', { name: /수신함/ }),
    ).toContainText('3');
    const dead = async () => (await team.server.api('problems?kind=dead')).counts.dead ?? 0;
    // From the first page: one click.
    team.hookStatus = 204;
    await hands.click(page.getByRole('button', { name: '다시 보내기' }).first());
    expect(hands.cost).toBe(1);
    await expect.poll(dead).toBe(2);
    await expect.poll(() => team.hooked).toBe(4);
    // In the inbox: the shortcut of two letters and the tab, then one key for each.
    hands.cost = 0;
    await hands.open('수신함', 'i');
    await hands.click(page.getByRole('tab', { name: '포기된 작업' }));
    expect(hands.cost).toBe(2);
    const rows = page.locator('main ul.card > li');
    await expect(rows).toHaveCount(2);
    await expect(rows.first()).toContainText('웹훅');
    await rows.first().getByRole('button', { name: '버리기' }).click();
    await page.getByRole('dialog').getByRole('button', { name: '버리기' }).click();
    await expect(rows).toHaveCount(1);
    if (hands.phone) await rows.first().getByRole('button', { name: '다시 보내기' }).click();
    else await page.keyboard.press('e');
    await expect(page.locator('main')).toContainText('포기된 작업이 없습니다.');
    await expect.poll(() => team.hooked).toBe(5);
  });
}

test('T-SEC-5 a viewer sees why nothing can be done, and what is sent anyway is refused', async ({
  page,
  working,
  faults,
}) => {
  faults.allow(/40[13]/);
  const team = await working({
    secrets: {
      taskMonitor: { writeToken: 'a-write-token-for-the-page' },
      ui: { viewers: [{ name: '민수', token: 'a-viewer-token-for-the-page' }] },
    },
  });
  const id = await team.waits('볼 수만 있는 일');
  await page.goto(team.server.url('inbox'));
  await page.getByRole('dialog').locator('input').first().fill('a-viewer-token-for-the-page');
  await page.keyboard.press('Enter');
  await expect(detail(page).getByRole('button', { name: '승인', exact: true })).toBeDisabled();
  await expect(page.locator('main')).toContainText('읽기만');
  await expect(page.getByLabel('결정하는 사람')).toHaveCount(0);
  for (const [path, body] of [
    [`approvals/${id}/approve`, {}],
    [`tasks/${id}/cancel`, {}],
    [`tasks/${id}/priority`, { priority: 'low' }],
  ] as const) {
    const status = await page.evaluate(
      async ([path, body]) =>
        (
          await fetch(new URL(`api/${path}`, document.baseURI), {
            method: 'POST',
            headers: { 'Content-Type': 'application/json', 'X-Openclawd-Ui': '1' },
            body: JSON.stringify(body),
          })
        ).status,
      [path, body] as const,
    );
    expect(status, path).toBe(403);
  }
  await visit(page, team.server.url(`tasks/${id}`));
  await expect(page.getByRole('button', { name: '작업 취소' })).toBeDisabled();

  // With the token of an operator the session signs, and no one is asked for a name.
  await page.context().clearCookies();
  await page.goto(team.server.url('inbox'));
  await page.getByRole('dialog').locator('input').first().fill('a-write-token-for-the-page');
  await page.keyboard.press('Enter');
  await expect(detail(page)).toContainText('operator');
  await expect(page.getByLabel('결정하는 사람')).toHaveCount(0);
  await detail(page).getByRole('button', { name: '승인', exact: true }).click();
  await expect(detail(page)).toContainText('승인됨 · operator (operate)', { timeout: 15_000 });
});

test('T-INBOX operators change a task: unblock, priority, reassign, cancel', async ({ page, working }) => {
  const team = await working();
  const id = await team.blocked('키가 필요한 일');
  await visit(page, team.server.url());
  // From the problem, with a note for the agent.
  await page
    .locator('main li')
    .filter({ hasText: '키가 필요한 일' })
    .getByRole('button', { name: '막힘 풀기' })
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('무엇이 바뀌었나').fill('키를 넣었습니다');
  await dialog.getByLabel('결정하는 사람').fill('병욱');
  await dialog.getByRole('button', { name: '막힘 풀기' }).click();
  await expect.poll(async () => (await team.server.api(`tasks/${id}`)).task.status).toBe('in_progress');
  const [resumed] = await team.eventTypes('task.resumed');
  expect([resumed!.data.decidedBy, resumed!.data.reason]).toEqual(['병욱', '키를 넣었습니다']);

  await visit(page, team.server.url(`tasks/${id}`));
  await expect(page.getByRole('button', { name: '막힘 풀기' })).toBeDisabled();
  await page.getByRole('button', { name: '우선순위 바꾸기' }).click();
  await dialog.getByLabel('긴급').check();
  await dialog.getByRole('button', { name: '우선순위 바꾸기' }).click();
  await expect(page.locator('main header')).toContainText('긴급');
  await page.getByRole('button', { name: '다른 에이전트에게' }).click();
  await dialog.getByLabel('맡을 에이전트').selectOption('seum');
  await dialog.getByRole('button', { name: '다른 에이전트에게' }).click();
  await expect(page).not.toHaveURL(new RegExp(id));
  await expect(page.locator('main header')).toContainText('세움');
  const added = (await team.eventTypes('task.backlog_added')).map(({ data }) => [data.assignee, data.createdBy]);
  expect(added).toEqual([['seum', '병욱']]);
  expect((await team.server.api(`tasks/${id}`)).task.status).toBe('cancelled');
  await page.getByRole('button', { name: '작업 취소' }).click();
  await dialog.getByLabel('이유').fill('필요 없음');
  await dialog.getByRole('button', { name: '작업 취소' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('button', { name: '작업 취소' })).toBeDisabled();
  await expect(page.locator('main')).toContainText('끝난 작업입니다.');
});

test('T-AXE inbox and its dialogs', async ({ page, working }) => {
  const team = await working();
  await team.waits('접근할 수 있는 일');
  for (const path of ['inbox', 'inbox?tab=dead', 'inbox?tab=decided', 'owed']) {
    await show(page, team.server.url(path));
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      expect(await violations(page), `${path} ${colorScheme}`).toEqual([]);
    }
  }
  await show(page, team.server.url('inbox'));
  await page.keyboard.press('x');
  await expect(page.getByRole('dialog')).toBeVisible();
  expect(await violations(page), 'reject').toEqual([]);
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 320, height: 700 });
  for (const path of ['inbox', 'owed']) {
    await show(page, team.server.url(path));
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  }
});

test('T-INBOX an agent whose plan waits is waiting, and its page leads to the decision', async ({ page, working }) => {
  const team = await working();
  await visit(page, team.server.url('agents'));
  const row = page.locator('main [data-id="eden"]');
  await team.call('eden', 'task_start', { description: '결제 배포', steps: [{ content: '배포' }] });
  await expect(row).toContainText('작업 중');
  await team.call('eden', 'plan_submit', { title: '배포 계획', steps: ['스테이징에 배포'] });
  await expect(row).toContainText('대기 중');
  await expect(row).toContainText('승인을 기다립니다.');
  await row.getByRole('link').click();
  await page.getByRole('link', { name: '승인 1건 기다림' }).click();
  await expect(detail(page).getByRole('heading', { name: '배포 계획' })).toBeVisible();
});

test('T-INBOX a plan without a title has the name of its agent and its first step', async ({ page, serve, folder }) => {
  await writeHome(folder, [{ id: 'eden', name: '이든' }]);
  const plans = `${folder}/workspace-eden/.openclaw/plans`;
  await mkdir(plans, { recursive: true });
  const plan = {
    id: 'plan_x',
    agentId: 'eden',
    taskId: 'task_x',
    status: 'pending',
    steps: ['스테이징에 배포', '확인'],
  };
  await writeFile(`${plans}/plan_x.json`, JSON.stringify(plan));
  const server = await serve({ home: folder, args: ['--follow'] });
  const name = '이든의 계획: 스테이징에 배포';
  for (const path of ['inbox', '', 'agents/eden?tab=plans']) {
    await visit(page, server.url(path));
    await expect(page.locator('main').getByText(name).first(), path).toBeVisible();
    await expect(page.locator('main')).not.toContainText('plan_x');
  }
});
