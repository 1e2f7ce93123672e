import { expect, type Hub, shown, test, visit } from './stage/test.ts';

/** Work sessions of the sample, archived ones too. */
const sessionsOf = async (hub: Hub) =>
  (await hub.api('work-sessions?limit=100&role=conversation.main&status=ACTIVE,QUIET,ARCHIVED')).sessions as {
    workSessionId: string;
    eventCount: number;
    roleCounts: Record<string, number>;
    threads: { fromAgent: string; toAgent: string; events: { seq: number; type: string }[] }[];
  }[];

test('T-VISIT a link to the first message of a long conversation shows it', async ({ page, hub }) => {
  await page.setViewportSize({ width: 1440, height: 600 });
  const longest = (await sessionsOf(hub)).toSorted((a, b) => b.eventCount - a.eventCount)[0]!;
  const events = longest.threads.flatMap((thread) => thread.events);
  const first = Math.min(...events.filter(({ type }) => type === 'a2a.send').map(({ seq }) => seq));
  await visit(page, hub.url(`c/${longest.workSessionId}?cat=all#e${first}`));
  const log = page.getByRole('log');
  await expect.poll(() => log.evaluate((box) => box.scrollHeight - box.clientHeight)).toBeGreaterThan(100);
  // Heights are measured and followed in the frames after the first one.
  await page.evaluate(async () => {
    for (let frames = 0; frames < 20; frames++) await new Promise(requestAnimationFrame);
  });
  await expect(page.locator(`#e${first}`)).toBeInViewport();
});

test('T-VISIT all that changed can be seen, and points are written as elsewhere', async ({ page, hub }) => {
  await visit(page, hub.url('time/diff?a=1&b=head'));
  const conversations = page.getByRole('region', { name: /^대화/ });
  const counted = await page.locator('main [data-group="conversations"] strong').innerText();
  expect(Number(counted)).toBeGreaterThan(25);
  await expect(conversations.getByRole('listitem')).toHaveCount(25);
  await conversations.getByRole('button', { name: `${counted}개 모두 보기` }).click();
  await expect(conversations.getByRole('listitem')).toHaveCount(Number(counted));
  await expect(conversations.getByRole('heading')).toHaveText(new RegExp(`대화\\s*${counted}$`));
  await expect(conversations.getByText('알 수 없음')).toHaveCount(0);

  await expect(page.getByLabel('B', { exact: true })).toHaveValue('지금');
  await page.getByLabel('A', { exact: true }).fill('1일 전');
  await page.getByRole('button', { name: '비교', exact: true }).click();
  await expect(page).toHaveURL(/diff\?a=\d+&b=head$/);
  await expect(page).not.toHaveURL(/a=1&/);
});

test('T-VISIT where all work sessions are archived the list says so and shows them', async ({ page, hub }) => {
  const { totalMatched, totalSessions } = await hub.api('work-sessions?as_of=60&status=ACTIVE,QUIET');
  expect([totalMatched, totalSessions > 0]).toEqual([0, true]);
  await visit(page, hub.url('c?as_of=60'));
  await expect(page.getByText('보관된 작업 세션만 있습니다.')).toBeVisible();
  await expect(page.getByText('아직 대화가 없습니다.')).toHaveCount(0);
  await expect(page.getByRole('region', { name: '과거 시점 보기' })).toContainText(/2026-11-23 .* 기록됨/);
  await page.getByRole('button', { name: '보관된 것도 보기' }).click();
  await expect(page.locator('section.list a[data-row]').first()).toBeVisible();
});

test('T-VISIT the palette tells work sessions of one title apart and opens them at the word', async ({ page, hub }) => {
  const { sessions } = (await hub.api(
    `work-sessions/search?limit=5&include=summary&q=${encodeURIComponent('결제')}`,
  )) as { sessions: { title: string; workSessionId: string; matchSeqs: number[] }[] };
  await visit(page, hub.url());
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('결제');
  const options = page.getByRole('option').filter({ hasText: sessions[0]!.title });
  await expect(options.first()).toContainText(/전|어제|그저께|지금/);
  const texts = await options.allInnerTexts();
  expect(new Set(texts).size).toBe(texts.length);
  await options.first().click();
  await shown(page);
  await expect(page).toHaveURL(new RegExp(`/c/${sessions[0]!.workSessionId}#e${sessions[0]!.matchSeqs[0]}$`));
});

test('T-VISIT the page of an agent shows what is stuck with it', async ({ page, hub }) => {
  const { problems } = await hub.api('problems');
  const { fields, refs } = problems.find(({ kind }: { kind: string }) => kind === 'blocked');
  for (const agent of [fields.from, fields.to]) {
    await visit(page, hub.url(`agents/${agent}`));
    const link = page.getByRole('region', { name: /^문제/ }).locator(`a[href*="/c/${refs.ws}"]`);
    await expect(link.first()).toBeVisible();
  }
});

test('T-VISIT nothing is offered that would change nothing', async ({ page, hub }) => {
  await visit(page, hub.url('health?as_of=100'));
  await expect(page.getByRole('button', { name: '지금 보기' })).toBeVisible();
  await expect(page.getByRole('button', { name: '다시 시도' })).toHaveCount(0);

  await visit(page, hub.url('tasks?as_of=1'));
  await expect(page.getByRole('link', { name: '끝난 작업 보기' })).toBeVisible();
  await visit(page, hub.url('tasks?as_of=1&ended=true'));
  await expect(page.getByText('열린 작업이 없습니다.')).toBeVisible();
  await expect(page.getByRole('link', { name: '끝난 작업 보기' })).toHaveCount(0);
});

test('T-VISIT conversations with sub-agents stand below a heading', async ({ page, hub }) => {
  const { workSessionId } = (await sessionsOf(hub)).find(
    ({ roleCounts }) => (roleCounts['delegation.subagent'] ?? 0) > 0 && (roleCounts['conversation.main'] ?? 0) > 0,
  )!;
  await visit(page, hub.url(`c/${workSessionId}?cat=all`));
  await expect(page.getByRole('listitem').filter({ hasText: /^하위 에이전트와$/ })).toBeVisible();
});

test('T-VISIT numbers of work sessions are those of the lists to which they lead', async ({ page, hub }) => {
  for (const name of ['활동 중', '조용함', '막힘']) {
    await visit(page, hub.url());
    const link = page.getByRole('main').getByRole('link', { name: new RegExp(`^${name} \\d+$`) });
    const said = Number((await link.innerText()).match(/\d+/)![0]);
    await link.click();
    await shown(page);
    await expect(page.locator('section.list .foot')).toContainText(`중 ${said}개`);
  }
});

test('T-VISIT from a whole work session one can step into each of its conversations', async ({ page, hub }) => {
  const { agents } = (await hub.api('agents')) as { agents: { id: string; kind: string }[] };
  const isMain = (id: string) => agents.some((agent) => agent.id === id && agent.kind === 'main');
  const session = (await sessionsOf(hub)).find(
    ({ threads }) => threads.filter((one) => isMain(one.fromAgent) && isMain(one.toAgent)).length > 1,
  )!;
  await visit(page, hub.url(`c/${session.workSessionId}?cat=all`));
  await page.getByText('끼어들 대화').locator('..').getByRole('link').first().click();
  await expect(page).toHaveURL(/\/conv:/);
  await expect(page.getByRole('button', { name: /대화에 끼어들기/ })).toBeVisible();
});

test('T-VISIT the list shows the work session that a link opens', async ({ page, hub }) => {
  await page.setViewportSize({ width: 1440, height: 600 });
  const last = (await sessionsOf(hub)).at(-1)!;
  await visit(page, hub.url(`c/${last.workSessionId}?cat=all`));
  await expect(page.locator(`section.list a[data-row="${last.workSessionId}"]`)).toBeInViewport();
});
