import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectAccessible } from './stage/axe.ts';
import { expect, test, visit } from './stage/test.ts';

/**
 * Writes openclaw.json of a team: the first may start the second, and the second may not write to the first. `change` are other settings of
 * tools.
 */
async function writeTeam(home: string, ids: string[], change: object = {}) {
  await mkdir(home, { recursive: true });
  const list = ids.map((id, index) => ({
    id,
    name: `에이전트 ${index}`,
    workspace: join(home, id),
    ...(index === 0 && ids[1] ? { subagents: { allowAgents: [ids[1]] } } : {}),
  }));
  const pairs = [{ from: ids[1] ?? 'x', to: ids[0], allow: false }];
  const tools = { agentToAgent: { enabled: true, pairs }, ...change };
  await writeFile(join(home, 'openclaw.json'), JSON.stringify({ agents: { defaults: { model: 'x' }, list }, tools }));
}

const fifteen = Array.from({ length: 15 }, (_, index) => `agent${index}`);

test('T-POLICY each cell is what the API says of the two agents, at 1440 px and on a phone', async ({
  page,
  serve,
  folder,
}) => {
  test.setTimeout(120_000);
  await writeTeam(folder, fifteen);
  const server = await serve({ home: folder });
  await page.setViewportSize({ width: 1440, height: 900 });
  await visit(page, server.url('agents'));
  await page.getByRole('tab', { name: '정책' }).click();
  await expect(page).toHaveURL(/agents\?view=policy$/);
  const table = page.getByRole('grid');
  await expect(table).toHaveAccessibleName('정책');
  const cells = table.getByRole('gridcell').getByRole('button');
  await expect(cells).toHaveCount(225);
  const shown = await cells.evaluateAll((all) =>
    all.map((cell) => [cell.ariaLabel, (cell as HTMLElement).innerText.replace(/\s+/g, ' ')]),
  );
  const said = (allowed: boolean) => (allowed ? '됨' : '안 됨');
  for (const [index, [label, text]] of shown.entries()) {
    const [from, to] = [Math.floor(index / 15), index % 15];
    const one = await server.api(`a2a/policy?from=agent${from}&to=agent${to}`);
    const [send, spawn] = [`쓰기 ${said(one.send.allowed)}`, `시작 ${said(one.spawn.allowed)}`];
    expect(label).toBe(`에이전트 ${from} → 에이전트 ${to}: ${send}, ${spawn}`);
    expect(text).toBe(`${send} ${spawn}`);
  }
  expect(new Set(shown.map(([, text]) => text)).size, 'kinds of cells').toBe(3);
  await expect(table.getByRole('columnheader')).toHaveCount(16);
  await expect(table.getByRole('rowheader')).toHaveCount(15);

  const box = table.locator('..');
  const widthOf = () => box.evaluate((element) => [element.scrollWidth, element.clientWidth] as const);
  for (const language of ['English로 보기', '한국어로 보기']) {
    await page.getByRole('button', { name: language }).click();
    const [wide, room] = await widthOf();
    expect(wide, 'fifteen agents fit').toBeLessThanOrEqual(room);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  const sideways = await page.evaluate(() => {
    const main = document.querySelector('main')!;
    return [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth];
  });
  expect(Math.max(...sideways), 'the page does not scroll sideways').toBeLessThanOrEqual(0);
  const [narrow, part] = await widthOf();
  expect(narrow, 'the table does').toBeGreaterThan(part);
  // Both headers stay where they are while the table is scrolled.
  await box.evaluate((element) => element.scrollTo(element.scrollWidth, element.scrollHeight));
  await expect(cells.last()).toBeInViewport({ ratio: 0.9 });
  await expect(table.getByRole('rowheader').last()).toBeInViewport({ ratio: 0.9 });
  await expect(table.getByRole('columnheader').last()).toBeInViewport({ ratio: 0.9 });
});

test('T-POLICY a cell is chosen with the keyboard and the mouse, and says what decides', async ({
  page,
  serve,
  folder,
}) => {
  test.setTimeout(120_000);
  await writeTeam(folder, ['eden', 'seum', 'ruda']);
  const server = await serve({ home: folder });
  await visit(page, server.url('agents?view=policy'));
  const cells = page.getByRole('gridcell').getByRole('button');
  await cells.first().focus();
  for (const key of ['ArrowDown', 'End', 'ArrowRight', 'Home', 'ArrowUp', 'ArrowDown', 'Enter'])
    await page.keyboard.press(key);
  await expect(cells.nth(3)).toBeFocused();
  await expect(page).toHaveURL(/view=policy&from=seum&to=eden$/);
  const explanation = page.getByRole('region', { name: '에이전트 1 → 에이전트 0' });
  await expect(explanation).toContainText('두 에이전트의 규칙');
  await expect(explanation).toContainText('tools.agentToAgent.pairs[0] does not let seum reach eden');
  await expect(explanation).toContainText('agents.list[seum].subagents.allowAgents does not name eden');
  await explanation.getByText('고치는 법').first().click();
  await expect(explanation).toContainText('put {from: "seum", to: "eden", allow: true} before it');
  await expectAccessible(page, 'matrix');

  // The arrows stop at the edges, and one cell is a stop of the Tab key.
  await expect(page.locator('[role=grid] button[tabindex="0"]')).toHaveCount(1);
  await cells.nth(1).click();
  await expect(page).toHaveURL(/from=eden&to=seum$/);
  await expect(page.getByRole('region', { name: '에이전트 0 → 에이전트 1' })).toContainText(
    '시작할 수 있는 에이전트 목록',
  );
  await page.reload();
  await expect(page.getByRole('region', { name: '에이전트 0 → 에이전트 1' })).toBeVisible();
  // On a phone the explanation comes into view.
  await page.setViewportSize({ width: 390, height: 500 });
  await cells.first().click();
  await expect(page.getByRole('region', { name: '에이전트 0 → 에이전트 0' })).toBeInViewport();
  await page.getByRole('button', { name: 'English로 보기' }).click();
  await expect(cells.nth(3)).toHaveAccessibleName('에이전트 1 → 에이전트 0: no write, no start');
});

test('T-POLICY one agent alone is told what the table is for', async ({ page, serve, folder }) => {
  await writeTeam(folder, ['eden']);
  const server = await serve({ home: folder });
  await visit(page, server.url('agents?view=policy'));
  await expect(page.locator('main')).toContainText('에이전트가 하나뿐입니다.');
  await expect(page.locator('main')).toContainText('agents.entries');
});

test('T-POLICY without agents the table says so', async ({ page, serve, folder }) => {
  await writeTeam(folder, []);
  const server = await serve({ home: folder });
  await visit(page, server.url('agents?view=policy'));
  await expect(page.locator('main')).toContainText('설정에 에이전트가 없습니다.');
});

test('T-POLICY what makes no difference is said as it is', async ({ page, serve, folder }) => {
  const [off, open] = ['allow와 pairs는 보지 않으며', '어떤 규칙도 이 에이전트들에게 적용되지 않아서'];
  const pairs = [{ from: 'eden', to: 'seum', allow: false }];
  const team = ['eden', 'seum', 'ruda'];
  await writeTeam(folder, team, { agentToAgent: { enabled: false, allow: ['eden'], pairs } });
  const server = await serve({ home: folder });
  await visit(page, server.url('agents?view=policy'));
  const text = page.locator('main');
  await expect(text).toContainText(off);
  await expect(text).not.toContainText(open);
  await writeTeam(folder, team, { agentToAgent: { enabled: true, pairs: [{ ...pairs[0], from: 'other' }] } });
  await expect(text).toContainText(open);
  await expect(text).not.toContainText(off);
  // Where the tool is missing, nothing else is of interest.
  await writeTeam(folder, team, { agentToAgent: { enabled: true, pairs }, deny: ['sessions_send'] });
  await expect(text).not.toContainText(open);
  await page.getByRole('gridcell').getByRole('button').nth(2).click();
  await expect(text).toContainText('도구 정책');
  await expect(text).toContainText('eden does not have sessions_send: tools.deny names it');
});

test('T-POLICY of more than 50 agents the first are shown, with few elements each', async ({ page, serve, folder }) => {
  test.setTimeout(120_000);
  await writeTeam(
    folder,
    Array.from({ length: 52 }, (_, index) => `agent${index}`),
  );
  const server = await serve({ home: folder });
  await visit(page, server.url('agents?view=policy&from=agent51&to=agent0'));
  await expect(page.locator('main')).toContainText('에이전트 52개 중 설정에서 앞선 50개입니다.');
  const table = page.getByRole('grid');
  await expect(table.getByRole('rowheader')).toHaveCount(50);
  const cells = 2500;
  expect(await table.locator('*').count(), 'elements').toBeLessThanOrEqual(4 * cells + 100 * 3 + 60);
  // A pair that it lacks is named, and is on the page of the agent.
  await expect(page.locator('main')).toContainText('이 표에 에이전트 51 → 에이전트 0 칸이 없습니다.');
  await page.getByRole('link', { name: '에이전트 51의 정책 보기' }).click();
  await expect(page).toHaveURL(/agents\/agent51\?tab=policy$/);
  await expect(page.getByRole('table', { name: '정책' }).getByRole('row')).toHaveCount(52);
});

test('T-POLICY the table shows nothing that it asks for in vain', async ({ page, serve, folder }) => {
  await writeTeam(folder, ['eden', 'seum']);
  const server = await serve({ home: folder });
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname.replace(/.*\/api/, '')));
  await visit(page, server.url('agents?view=policy'));
  await expect(page.getByRole('grid')).toBeVisible();
  // The names of agents are read once for all of the page.
  expect(asked.filter((path) => path === '/agents')).toHaveLength(1);
  await page.getByRole('tab', { name: '목록' }).click();
  await expect(page.getByRole('table', { name: '에이전트' }).getByRole('row')).toHaveCount(3);
});

test('T-POLICY a change of the configuration leaves the focus and the stop of Tab where they are', async ({
  page,
  serve,
  folder,
}) => {
  await writeTeam(folder, ['eden', 'seum', 'ruda']);
  const server = await serve({ home: folder });
  await visit(page, server.url('agents?view=policy&from=eden&to=seum'));
  const cells = page.getByRole('gridcell').getByRole('button');
  const stop = page.locator('[role=grid] button[tabindex="0"]');
  await expect(stop).toHaveAccessibleName(/^에이전트 0 → 에이전트 1/);
  await stop.focus();
  for (const key of ['ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
  await expect(cells.nth(5)).toBeFocused();
  await writeTeam(folder, ['eden', 'seum', 'ruda'], { agentToAgent: { enabled: false } });
  await expect(cells.nth(5)).toHaveAccessibleName('에이전트 1 → 에이전트 2: 쓰기 안 됨, 시작 안 됨');
  await expect(cells.nth(5)).toBeFocused();
  await expect(stop).toHaveAccessibleName(/^에이전트 1 → 에이전트 2/);
  // One more agent, before the others: the cell is another one by its place.
  await writeTeam(folder, ['dajim', 'eden', 'seum', 'ruda'], { agentToAgent: { enabled: false } });
  await expect(cells).toHaveCount(16);
  await expect(cells.nth(11)).toBeFocused();
  await expect(stop).toHaveAccessibleName(/^에이전트 2 → 에이전트 3/);
  await page.keyboard.press('ArrowLeft');
  await expect(cells.nth(10)).toBeFocused();
  await expect(page.getByRole('columnheader').nth(2).locator('.agent')).toHaveAttribute('title', '에이전트 1 · eden');
});

test('T-POLICY in the past it is that of the configuration then, on both pages', async ({ page, serve, folder }) => {
  await writeTeam(folder, ['eden', 'seum', 'ruda']);
  const server = await serve({ home: folder });
  const then = await server.head();
  await writeTeam(folder, ['eden', 'seum'], { agentToAgent: { enabled: false } });
  await expect.poll(async () => (await server.api('a2a/policy/matrix')).agents.length).toBe(2);
  await visit(page, server.url(`agents?view=policy&from=eden&to=ruda&as_of=${then}`));
  const cells = page.getByRole('gridcell').getByRole('button');
  await expect(cells).toHaveCount(9);
  await expect(cells.nth(2)).toHaveAccessibleName(/ruda: 쓰기 됨, 시작 안 됨$|에이전트 2: 쓰기 됨, 시작 안 됨$/);
  await expect(page.locator('main')).toContainText('tools.agentToAgent.allow names none');

  const asked: string[] = [];
  page.on('request', (request) => request.url().includes('a2a/policy') && asked.push(request.url()));
  await visit(page, server.url(`agents/eden?tab=policy&as_of=${then}`));
  const rows = page.getByRole('table', { name: '정책' }).getByRole('row');
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(2)).toContainText('ruda');
  await expect(rows.nth(2)).toContainText('모두 허용');
  await expect(page.locator('main')).not.toContainText('지금 설정');
  expect(asked).toHaveLength(1);
  await visit(page, server.url('agents/eden?tab=policy'));
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText('에이전트 사이 대화 꺼짐');
});
