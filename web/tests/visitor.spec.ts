import { expect, type Hub, show, shown, test, visit } from './stage/test.ts';

/** Work sessions of the sample, archived ones too. */
const sessionsOf = async (hub: Hub) =>
  (await hub.api('work-sessions?limit=100&role=conversation.main&status=ACTIVE,QUIET,ARCHIVED')).sessions as {
    workSessionId: string;
    eventCount: number;
    participants: { type: string }[];
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
    await show(page, hub.url(`agents/${agent}`));
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

test.describe('in English', () => {
  test.use({ locale: 'en-US' });

  test('T-VISIT what is typed into and what is chosen in the filter of conversations can be read', async ({
    page,
    hub,
  }) => {
    await visit(page, hub.url('c'));
    const filters = page.getByRole('group', { name: 'Filters' });
    await expect(filters.getByPlaceholder('Search messages')).toBeVisible();
    // Each is at least as wide as it would be for its text alone.
    const cut = await filters.locator('input, select').evaluateAll((fields) =>
      (fields as HTMLElement[])
        .filter((field) => {
          const alone = field.cloneNode(true) as HTMLElement;
          Object.assign(alone.style, { position: 'absolute', fieldSizing: 'content', width: 'auto', maxWidth: 'none' });
          field.after(alone);
          const needed = alone.offsetWidth;
          alone.remove();
          return needed > field.offsetWidth + 1;
        })
        .map((field) => field.ariaLabel),
    );
    expect(cut).toEqual([]);
  });
});

test('T-VISIT the past says which conversations are not counted and leads to them', async ({ page, hub }) => {
  expect((await hub.api('problems?as_of=60')).total).toBe(0);
  await visit(page, hub.url('?as_of=60'));
  await page.getByRole('link', { name: /^보관된 작업 세션의 막힌 대화/ }).click();
  await expect(page.locator('section.list a[data-row]').first()).toBeVisible();
});

test('T-VISIT the log begins before it ends, in the past too', async ({ page, hub }) => {
  // The first event of an imported log may be newer than those that follow.
  const { buckets } = await hub.api<{ buckets: { t0: number; t1: number }[] }>(
    'events/histogram?buckets=120&as_of=100',
  );
  expect(buckets[0]!.t0).toBeGreaterThan(buckets.at(-1)!.t1);
  await visit(page, hub.url('log?as_of=100'));
  const ends = (await page.locator('.strip p').innerText()).match(/\d{4}-\d\d-\d\d \d\d:\d\d/g)!;
  expect(ends).toHaveLength(2);
  expect(ends.toSorted()).toEqual(ends);
});

test('T-VISIT decided plans without a task lead to where they are', async ({ page, hub }) => {
  const { approvals } = await hub.api('approvals?state=decided');
  const { decision } = approvals.find((one: { kind: string; taskId: string }) => one.kind === 'plan' && !one.taskId);
  await visit(page, hub.url('inbox?tab=decided'));
  await page.locator(`a[href$="log?at=${decision.seq}"]`).click();
  await expect(page.getByRole('heading', { name: `이벤트 seq ${decision.seq}` })).toBeVisible();
});

test('T-VISIT the flow says of no failure that it has no cause', async ({ page, hub }) => {
  const { sessions } = await hub.api('work-sessions?outcome=blocked&limit=1&status=ACTIVE,QUIET,ARCHIVED');
  const { trace } = await hub.api(`trace/${sessions[0].workSessionId}`);
  const blocked = trace.roots.find(({ outcome }: { outcome: string }) => outcome === 'blocked');
  await visit(
    page,
    hub.url(`flow/${sessions[0].workSessionId}#${encodeURIComponent(`${blocked.kind}:${blocked.id}`)}`),
  );
  const selection = page.locator('section', { has: page.locator('#selection') });
  await expect(selection.getByText('막힘', { exact: true })).toBeVisible();
  await expect(selection.getByText('결과', { exact: true })).toBeVisible();
  await expect(selection.getByText('원인', { exact: true })).toHaveCount(0);
});

test('T-VISIT on phones a notice covers neither the navigation nor its menu', async ({ page, hub }) => {
  await page.setViewportSize({ width: 390, height: 700 });
  await visit(page, hub.url());
  await page.getByRole('button', { name: '더보기' }).click();
  await expect(page.getByRole('menuitem').last()).toBeVisible();
  // A notice of any text, as wide as the screen and higher than a line.
  const covered = await page.locator('.toasts').evaluate((toasts) => {
    const notice = document.createElement('p');
    notice.style.cssText = 'width: 360px; height: 80px';
    toasts.append(notice);
    const below =
      notice.getBoundingClientRect().bottom >
      document.querySelector('nav:has(.bottom-more)')!.getBoundingClientRect().top;
    const hidden = [...document.querySelectorAll('[role=menuitem]')].filter((item) => {
      const { left, top, width, height } = item.getBoundingClientRect();
      return !item.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    });
    notice.remove();
    return { below, hidden: hidden.map((item) => item.textContent) };
  });
  expect(covered).toEqual({ below: false, hidden: [] });
});

test('T-VISIT one can write to the agent that the advice names', async ({ page, hub }) => {
  const { problems } = await hub.api('problems');
  const { fields, refs } = problems.find(({ code }: { code: string }) => code === 'context_too_long');
  await visit(page, hub.url(`c/${refs.ws}/${refs.thread}?cat=all#e${refs.seq}`));
  const card = page.getByRole('log').getByRole('listitem').filter({ hasText: '답할 에이전트에게 /new를 보내' });
  await expect(card.getByRole('link', { name: `${fields.toName}에게 말하기` })).toBeVisible();
  await expect(card.getByRole('link', { name: `${fields.fromName}에게 말하기` })).toHaveCount(0);
});

test('T-VISIT only the board speaks of its cards', async ({ page, hub }) => {
  const { tasks } = await hub.api('tasks?limit=1');
  await visit(page, hub.url(`tasks/${tasks[0].id}?agent=${tasks[0].agentId}`));
  await expect(page.getByRole('link', { name: /에게 말하기$/ })).toBeVisible();
  await expect(page.getByText('카드는 끌어 옮길 수 없습니다')).toHaveCount(0);
  await visit(page, hub.url('tasks'));
  await expect(page.getByText('카드는 끌어 옮길 수 없습니다')).toBeVisible();
});

test('T-VISIT one thing is written in one way', async ({ page, hub }) => {
  await visit(page, hub.url());
  const counts = page.getByRole('main').getByText('작업 세션').filter({ hasText: '활동 중' });
  await expect(counts).toHaveText(/활동 중 \d+ · 조용함 \d+ · 막힘 \d+/);
  await expect(page.getByText('답할 시간이 지난 요청은 문제나 끝난 것에 있습니다.')).toBeVisible();
  await page.getByRole('link', { name: '끝난 것 보기' }).click();
  await expect(page).toHaveURL(/\/owed\?open=false$/);

  const crowded = (await sessionsOf(hub)).find(
    ({ participants }) => participants.filter(({ type }) => type !== 'subagent').length > 3,
  )!;
  await visit(page, hub.url('c'));
  await expect(page.locator(`a[data-row="${crowded.workSessionId}"]`)).toContainText(/외 \d명/);
  const { seq } = crowded.threads[0]!.events[0]!;
  await visit(page, hub.url(`c/${crowded.workSessionId}?cat=all#e${seq}`));
  await expect(page.getByRole('heading', { name: `이벤트 seq ${seq}` })).toBeVisible();
});

test('T-VISIT on phones rows of the log that are not of today have their day, and none is wider', async ({
  page,
  hub,
}) => {
  await page.setViewportSize({ width: 390, height: 700 });
  await visit(page, hub.url('log'));
  const log = page.getByRole('log');
  await log.evaluate((box) => (box.scrollTop = 0));
  const row = log
    .getByRole('listitem')
    .filter({ hasText: /\d\d-\d\d\s*\d\d:\d\d:\d\d/ })
    .first();
  await expect(row.locator('.day')).toBeVisible();
  const measured = await row.evaluate((row: HTMLElement) => {
    const time = row.querySelector<HTMLElement>('.time')!;
    const [high, wide] = [time.offsetHeight <= row.offsetHeight, time.offsetWidth];
    time.querySelector('.day')!.remove();
    return { high, wider: wide - time.offsetWidth };
  });
  expect(measured).toEqual({ high: true, wider: 0 });
});

test('T-VISIT what was approved elsewhere in this tab is not asked for again, and who gave no name is said so', async ({
  page,
  serve,
}) => {
  const server = await serve();
  await server.settle();
  const { approvals } = await server.api('approvals');
  const { id, agentId, taskId, title } = approvals[0];
  // The inbox keeps its list.
  await visit(page, server.url('inbox'));
  await expect(page.locator('[data-item]').getByRole('heading', { name: title })).toBeVisible();
  await page.getByRole('navigation').getByRole('link', { name: /^지금/ }).first().click();
  await page.getByRole('main').getByRole('button', { name: '승인', exact: true }).click();
  await expect(page.getByText('승인했습니다.')).toBeVisible({ timeout: 15_000 });
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page
    .getByRole('navigation')
    .getByRole('link', { name: /^수신함/ })
    .first()
    .click();
  await expect(page.getByText('승인됨 · 이름 안 적음').first()).toBeVisible();
  await page.goto(server.url(`tasks/${taskId}?agent=${agentId}`));
  await expect(page.getByText('승인됨 · 이름 안 적음')).toBeVisible();
  expect(asked.filter((path) => path.endsWith(`/approvals/${id}`))).toEqual([]);
});
