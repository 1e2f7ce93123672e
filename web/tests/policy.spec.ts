import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectAccessible } from './stage/axe.ts';
import { expect, test, visit } from './stage/test.ts';

/** Writes openclaw.json of a team: the first may start the second, and the second may not write to the first. */
async function writeTeam(home: string, ids: string[]) {
  await mkdir(home, { recursive: true });
  const list = ids.map((id, index) => ({
    id,
    name: `에이전트 ${index}`,
    workspace: join(home, id),
    ...(index === 0 && ids[1] ? { subagents: { allowAgents: [ids[1]] } } : {}),
  }));
  const pairs = [{ from: ids[1] ?? 'x', to: ids[0], allow: false }];
  const tools = { agentToAgent: { enabled: true, pairs } };
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
  await expect(explanation).toContainText('subagents.allowAgents of seum does not name eden');
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
  await expect(cells.nth(3)).toHaveAccessibleName('에이전트 1 → 에이전트 0: Write no, Start no');
});

test('T-POLICY one agent alone is told what the table is for', async ({ page, serve, folder }) => {
  await writeTeam(folder, ['eden']);
  const server = await serve({ home: folder });
  await visit(page, server.url('agents?view=policy'));
  await expect(page.locator('main')).toContainText('에이전트가 하나뿐입니다.');
  await expect(page.locator('main')).toContainText('agents.list');
});
