import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { violations } from './stage/axe.ts';
import { binary, until } from './stage/server.ts';
import { test, type Team } from './stage/team.ts';
import { expect, visit } from './stage/test.ts';

const run = promisify(execFile);

/** Calls openclawd beside the server of a team. */
const command = async (team: Team, ...args: string[]) =>
  (await run(binary, [...args, '--state-dir', team.home, '--json'])).stdout;

test('T-JOBS jobs appear, are run, paused and resumed, with who asked', async ({ page, working, faults }) => {
  faults.allow(/status of 404/);
  const team = await working();
  await visit(page, team.server.url('schedules'));
  await expect(page.locator('main')).toContainText('예약이 없습니다.');
  const added = JSON.parse(
    await command(team, 'cron', 'add', '--name', '일일 보고', '--agent', 'eden', '--every', '2h', '--message', '보고'),
  ) as { id: string };
  const row = page.locator('main .row');
  await expect(row).toContainText('일일 보고');
  for (const text of ['이든', '켜짐', '2시간마다']) await expect(row).toContainText(text);
  expect(await violations(page)).toEqual([]);

  await row.getByRole('button', { name: '지금 실행' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('결정하는 사람').fill('민수');
  await dialog.getByRole('button', { name: /^지금 실행/ }).click();
  await expect(row).toContainText('실행 중');
  await expect(row.getByRole('button', { name: '지금 실행' })).toBeDisabled();
  await row.getByRole('button', { name: '멈추기' }).click();
  await dialog.getByRole('button', { name: /^멈추기/ }).click();
  await expect(row.getByRole('button', { name: '다시 켜기' })).toBeVisible();
  const [made] = await team.eventTypes('cron.job.added');
  const [due] = await team.eventTypes('cron.run.due');
  const [paused] = await team.eventTypes('cron.job.updated');
  expect([due!.data.by, paused!.data.by]).toEqual(['민수', '민수']);

  // The runs of the job, with the keyboard.
  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(new RegExp(`schedules/${added.id}$`));
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('일일 보고');
  await expect(page.getByRole('table', { name: '실행' })).toContainText('요청');
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: '다시 켜기' }).click();
  await dialog.getByRole('button', { name: /^다시 켜기/ }).click();
  await expect(page.getByRole('button', { name: '멈추기' })).toBeVisible();

  // In the past the job is as it was then, and nothing can be changed.
  await visit(page, team.server.url(`schedules?as_of=${due!.seq}`));
  await expect(row).toContainText('실행 중');
  await expect(row.getByRole('button', { name: '멈추기' })).toBeDisabled();
  await visit(page, team.server.url(`schedules/${added.id}?as_of=${made!.seq - 1}`));
  await expect(page.locator('main')).toContainText('이 시점에는 없는 예약입니다.');
});

test('T-TOOLS calls with their outcomes, servers with their state, permissions and the sandbox', async ({
  page,
  working,
  serve,
  faults,
}) => {
  test.setTimeout(120_000);
  faults.allow(/ERR_CONNECTION_REFUSED/);
  const team = await working({
    secrets: {
      tools: { exec: { sandbox: 'off' }, deny: ['web_fetch'] },
      mcp: { servers: { files: { command: 'openclawd-has-no-such-program' } } },
    },
  });
  const call = (tool: string, args: object) =>
    command(team, 'tools', 'call', tool, JSON.stringify(args), '--agent', 'eden');
  await visit(page, team.server.url('tools'));
  await expect(page.locator('main')).toContainText('기록된 호출이 없습니다.');
  await call('write', { path: 'notes.md', content: '메모' });
  const rows = page.locator('main details');
  await expect(rows).toHaveCount(1);
  await expect(rows.first()).toContainText('끝남');

  // What the probe before the first command has found.
  await call('exec', { command: 'true' });
  await expect(rows).toHaveCount(2);
  await visit(page, team.server.url('agents/eden'));
  await expect(page.locator('main aside')).toContainText('막혀 있지 않음');

  // A kill leaves a call of which it is not known whether it had its effect.
  const lost = call('exec', { command: 'sleep 60', yieldMs: 60_000 }).catch(() => {});
  await until(async () => (await team.server.api('tools/calls?state=open')).count === 1, 'the command');
  await team.server.stop('SIGKILL');
  await lost;
  team.server = await serve({ home: team.home, args: ['--gateway', '127.0.0.1:0'] });
  await visit(page, team.server.url('tools'));
  await page.getByRole('button', { name: '결과를 모르는 호출 1개' }).click();
  await expect(page).toHaveURL(/state=unknown/);
  await expect(rows).toHaveCount(1);
  await rows.locator('summary').click();
  for (const text of ['exec', '알 수 없음', '서버가 다시 시작되는 동안', 'sleep 60'])
    await expect(rows).toContainText(text);
  await page.getByLabel('에이전트').selectOption('seum');
  await expect(page.locator('main')).toContainText('이 조건에 맞는 것이 없습니다');
  expect(await violations(page)).toEqual([]);

  await page.getByRole('tab', { name: 'MCP 서버' }).click();
  const server = page.getByRole('region', { name: 'files' });
  await expect(server).toContainText('에이전트가 처음 쓸 때 시작합니다.');
  await call('files__read', {}).catch(() => {});
  await expect(server).toContainText('쓸 수 없음');
  await expect(server).toContainText('not in PATH');
  expect(await violations(page)).toEqual([]);

  await visit(page, team.server.url('tools?tab=rights&agent=eden&denied=1'));
  await expect(page.locator('main li').filter({ hasText: 'web_fetch' })).toContainText('tools.deny');
  expect(await violations(page)).toEqual([]);
  await visit(page, team.server.url('tools?tab=rights&as_of=3'));
  await expect(page.locator('main')).toContainText('이 화면에는 과거가 없습니다.');

  // Of an agent without commands nothing was probed.
  await visit(page, team.server.url('agents/seum'));
  await expect(page.locator('main aside')).toContainText('아직 확인한 적 없음');
});

test('T-FILTER several statuses of an address are shown as chosen', async ({ page, hub }) => {
  await visit(page, hub.url('c?status=ACTIVE&status=QUIET'));
  await expect(page.getByLabel('상태', { exact: true })).toHaveValue('ACTIVE,QUIET');
  await expect(page.getByLabel('상태', { exact: true }).locator('option:checked')).toHaveText('활동 중, 조용함');
  await visit(page, hub.url('tasks?view=list&status=blocked,interrupted'));
  await expect(page.locator('main select option:checked').filter({ hasText: '막힘' })).toHaveCount(1);
});
