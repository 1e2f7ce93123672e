import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { binary, top, until, type Server } from './stage/server.ts';
import { expect, type Hub, move, show, type Page, shown, test as base, visit } from './stage/test.ts';

/** A generator of numbers from 0 to 1 that starts with a seed, so that a failure can be repeated. */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Size of the log of its own on which T-PAST runs; without it the log of the sample is used. */
const events = Number(process.env.OPENCLAWD_UI_PAST_EVENTS ?? 0);

type Past = Pick<Hub, 'url' | 'api'> & { head: number };

const test = base.extend<{ past: Past }>({
  past: async ({ hub, serve, folder }, use) => {
    let server: Pick<Server, 'url' | 'api'> = hub;
    if (events > 0) {
      base.setTimeout(30 * 60_000);
      const home = join(folder, 'team');
      const bench = process.env.OPENCLAWD_BENCH ?? join(top, 'bin/openclawd-bench');
      execFileSync(bench, ['fill', '--events', String(events), '--out', home]);
      server = await serve({ home, args: ['--follow'] });
    }
    const { seq } = await server.api<{ seq: number }>('health');
    await use({ url: (path) => server.url(path), api: (path) => server.api(path), head: seq });
  },
});

/** An answer as of an event, once its snapshot is there; null where there is no past. */
async function asOf(past: Past, path: string, seq: number): Promise<any> {
  let answer: any;
  await until(
    async () => {
      const response = await fetch(
        past.url().replace(/ui\/$/, `api/${path}${path.includes('?') ? '&' : '?'}as_of=${seq}`),
      );
      if (response.status === 400) answer = null;
      else if (response.status === 200) answer = await response.json();
      else expect([202, 503]).toContain(response.status);
      return answer !== undefined;
    },
    `${path} as of ${seq}`,
    120_000,
  );
  return answer;
}

const linkTo = (url: string) => decodeURIComponent(new URL(url, 'http://x').pathname.replace(/^.*\/ui\//, ''));

/** Where the rows of a page lead to, in order. */
const rows = (page: Page, selector = 'main a[data-row]') =>
  page.locator(selector).evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href));

async function settled(page: Page, url: string) {
  await move(page, url);
  await expect(page.getByRole('progressbar', { includeHidden: true }).and(page.locator('.building *'))).toHaveCount(0, {
    timeout: 120_000,
  });
  await shown(page);
}

test('T-PAST each page shows what the API answers as of 20 random points', async ({ page, past, faults }) => {
  test.setTimeout(events > 0 ? 30 * 60_000 : 240_000);
  // Where the log does not have tasks, the API refuses, and the page says so.
  faults.allow(/Failed to load resource.*400/);
  const seed = Number(process.env.OPENCLAWD_UI_SEED ?? randomInt(2 ** 31));
  console.log(`T-PAST: seed ${seed} (OPENCLAWD_UI_SEED), ${past.head} events`);
  const next = numbers(seed);
  await visit(page, past.url());
  for (let i = 0; i < 20; i++) {
    const seq = 1 + Math.floor(next() * past.head);
    await test.step(`seq ${seq}`, async () => {
      const problems = await asOf(past, 'problems?limit=100', seq);
      await settled(page, past.url(`?as_of=${seq}`));
      await expect(page.locator('main li a[data-row]')).toHaveCount(problems.problems.length);
      await expect(page.getByRole('region', { name: '과거 시점 보기' })).toContainText(
        `seq ${seq.toLocaleString('ko-KR')} /`,
      );
      const badge = page.locator('nav .badge').first();
      if (problems.total > 0) await expect(badge).toHaveText(String(problems.total));
      else await expect(badge).toHaveCount(0);
      const titles = await page.locator('main li a[data-row]').allInnerTexts();
      problems.problems.forEach(({ title }: { title: string | null }, row: number) =>
        expect(titles[row]).toContain((title ?? '').split('\n')[0]!.slice(0, 20).trim()),
      );

      const sessions = await asOf(
        past,
        'work-sessions?status=ACTIVE,QUIET,ARCHIVED&role=conversation.main&include=summary&limit=50',
        seq,
      );
      await settled(page, past.url(`c?cat=all&status=ACTIVE,QUIET,ARCHIVED&as_of=${seq}`));
      const ids = new Set((await rows(page)).map((link) => linkTo(link).split('/')[1]));
      for (const { workSessionId } of sessions.sessions.slice(0, 8)) expect(ids).toContain(workSessionId);
      if (sessions.sessions.length === 0) expect(ids.size).toBe(0);

      const tasks = await asOf(past, 'tasks?open=true&limit=200', seq);
      await settled(page, past.url(`tasks?as_of=${seq}`));
      if (tasks === null) {
        await expect(page.locator('main').getByRole('alert').first()).toBeVisible();
        expect(await rows(page)).toEqual([]);
      } else {
        await expect(page.locator('main .board a[data-row]')).toHaveCount(tasks.tasks.length);
        expect(new Set((await rows(page, 'main .board a[data-row]')).map(linkTo))).toEqual(
          new Set(tasks.tasks.map(({ id }: { id: string }) => `tasks/${id}`)),
        );
      }

      const agents = await asOf(past, 'agents', seq);
      await settled(page, past.url(`agents?as_of=${seq}`));
      if (agents === null) await expect(page.locator('main').getByRole('alert').first()).toBeVisible();
      else {
        expect(new Set((await rows(page)).map(linkTo))).toEqual(
          new Set(
            agents.agents
              .filter(({ kind }: { kind: string }) => kind !== 'person')
              .map(({ id }: { id: string }) => `agents/${id}`),
          ),
        );
      }
    });
  }
  // Leaving restores: the same address without the past shows the present.
  await page.getByRole('button', { name: /지금으로/ }).click();
  await expect(page).toHaveURL(past.url('agents'));
  await expect(page.getByRole('region', { name: '과거 시점 보기' })).toHaveCount(0);
  await expect(page.getByRole('button', { name: /실시간/ })).toBeVisible();
});

test('T-PAST every link inside the past keeps it, and nothing can be changed there', async ({ page, hub, faults }) => {
  test.setTimeout(180_000);
  faults.allow(/Failed to load resource.*40[04]/);
  const changes: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') changes.push(`${request.method()} ${request.url()}`);
  });
  const seq = (await hub.api('health')).seq - 20;
  await visit(page, hub.url(`?as_of=${seq}`));
  const { sessions } = await hub.api(`work-sessions?status=ACTIVE,QUIET,ARCHIVED&limit=1&as_of=${seq}`);
  const { tasks } = await hub.api(`tasks?limit=1&as_of=${seq}`);
  const places = [
    '',
    'c',
    'tasks',
    'tasks?view=list',
    'agents',
    'agents/eden',
    'search?q=배포',
    'inbox',
    'owed',
    'schedules',
    'tools',
    'log',
    'time',
    'health',
  ];
  places.push(`c/${encodeURIComponent(sessions[0].workSessionId)}`, `tasks/${encodeURIComponent(tasks[0].id)}`);
  const toTell = /말하기$/;
  for (const place of places) {
    await settled(page, hub.url(`${place}${place.includes('?') ? '&' : '?'}as_of=${seq}`));
    const lost = await page
      .locator('main a[href], nav a[href]')
      .evaluateAll((links) =>
        links
          .map((link) => (link as HTMLAnchorElement).href)
          .filter((link) => link.includes('/ui/') && !/[?&]as_of=\d+/.test(link)),
      );
    expect(lost, `links of ${place} that leave the past`).toEqual([]);
    // Nothing can be told to the past, so nothing offers it.
    await expect(page.locator('main').getByText(toTell), place).toHaveCount(0);
    for (const name of [/^승인/, /^거절/, /^다시 보내기/, /^버리기/, /^분류/, /^되돌리기/]) {
      for (const button of await page.locator('main').getByRole('button', { name }).all()) {
        if (!(await button.isVisible())) continue;
        const off = (await button.isDisabled()) || (await button.getAttribute('aria-disabled')) === 'true';
        expect(off, `${place}: ${await button.innerText()} is off`).toBe(true);
      }
    }
  }
  expect(changes).toEqual([]);
  // The same pages offer it now.
  for (const place of ['tasks', 'agents/eden', `tasks/${encodeURIComponent(tasks[0].id)}`]) {
    await show(page, hub.url(place));
    await expect(page.locator('main').getByText(toTell).first(), place).toBeVisible();
  }
  // What a page would send is refused as well.
  const response = await page.request.patch(
    hub
      .url()
      .replace('/ui/', `/api/work-sessions/${encodeURIComponent(sessions[0].workSessionId)}/category?as_of=${seq}`),
    { data: { category: 'infra_ops', by: 'test' } },
  );
  expect(response.status()).toBe(400);
  expect((await response.json()).code).toBe('as_of_not_supported');
});

/** Requests of the page to the API. */
function requests(page: Page): URL[] {
  const list: URL[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    // The frame counts problems once a minute, whatever the page does.
    const frame = url.pathname.endsWith('/problems') && url.searchParams.get('limit') === '1';
    if (/\/ui\/api\//.test(url.pathname) && !frame) list.push(url);
  });
  return list;
}

const apiPath = (url: URL) => url.pathname.replace(/^.*\/ui\/api\//, '');

test('T-PAST dragging asks nothing, and a release asks once', async ({ page, hub }) => {
  const { seq: head } = await hub.api('health');
  await visit(page, hub.url('time?scale=seq'));
  const handle = page.getByRole('slider', { name: '시점 A' });
  await expect(handle).toHaveAttribute('max', String(head));
  await expect(page.locator('[data-then]')).toBeVisible();
  const box = (await handle.boundingBox())!;
  const y = box.y + box.height / 2;
  const asked = requests(page);
  for (const to of [0.55, 0.3]) {
    asked.length = 0;
    const now = Number(await handle.inputValue());
    const place = (value: number) => box.x + 10 + (box.width - 20) * (value / head);
    await page.mouse.move(place(now), y);
    await page.mouse.down();
    for (let i = 1; i <= 25; i++) {
      await page.mouse.move(place(now) + (box.x + box.width * to - place(now)) * (i / 25), y);
    }
    const at = Number(await handle.inputValue());
    expect(at).not.toBe(now);
    expect(asked.map(String)).toEqual([]);
    await page.mouse.up();
    await expect(page.locator(`[data-then="${at}"]`)).toBeVisible();
    await expect(page).toHaveURL(new RegExp(`at=${at}`));
    expect(asked.map((url) => `${apiPath(url)}${url.search}`)).toEqual([`counts?as_of=${at}`]);
    const counts = await hub.api(`counts?as_of=${at}`);
    await expect(page.locator('[data-then]')).toContainText(
      `그때: 문제 ${counts.problems} · 실행 중 ${counts.running} · 답장 대기 ${counts.owed}`,
    );
  }

  // Keys move it as well: the arrow by one event, and Enter shows the whole app then.
  await handle.focus();
  const before = Number(await handle.inputValue());
  asked.length = 0;
  await page.keyboard.press('ArrowRight');
  await expect(handle).toHaveAttribute('aria-valuetext', new RegExp(`seq ${before + 1}`));
  await expect(page.locator(`[data-then="${before + 1}"]`)).toBeVisible();
  expect(asked.map(apiPath)).toEqual(['counts']);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(hub.url(`?as_of=${before + 1}`));
});

test('T-PAST steps, problems and playing show what each event changed', async ({ page, hub }) => {
  const { steps: failures } = await hub.api('replay/step?at=1&n=50&errors=true');
  const seqs: number[] = failures.map(({ event }: { event: { seq: number } }) => event.seq);
  expect(seqs.length).toBeGreaterThan(2);
  await visit(page, hub.url(`time?at=${seqs[0]! + 1}`));
  await page.getByRole('button', { name: '다음 문제' }).click();
  await expect(page).toHaveURL(new RegExp(`at=${seqs[1]}(&|$)`));
  await expect(page.locator('main .step')).toContainText('실패');
  await page.keyboard.press('{');
  await expect(page).toHaveURL(new RegExp(`at=${seqs[0]}(&|$)`));
  await page.keyboard.press(']');
  await expect(page).toHaveURL(new RegExp(`at=${seqs[0]! + 1}(&|$)`));
  const { steps } = await hub.api(`replay/step?at=${seqs[0]! + 1}`);
  await expect(page.locator('main .step .head').first()).toContainText(String(seqs[0]! + 1));
  for (const { table } of steps[0].changes)
    await expect(page.locator('main .step')).toContainText(new RegExp(`${table}|작업|대화|실행|에이전트`));

  // Playing leaves out no event: each is asked for, in order.
  const asked = requests(page);
  await page.getByRole('button', { name: '16x' }).click();
  await page.getByRole('button', { name: '재생' }).click();
  await expect
    .poll(() => asked.filter((url) => apiPath(url) === 'replay/step').length, { timeout: 20_000 })
    .toBeGreaterThan(5);
  await page.getByRole('button', { name: '멈춤' }).click();
  const played = asked.filter((url) => apiPath(url) === 'replay/step').map((url) => Number(url.searchParams.get('at')));
  expect(played).toEqual(played.map((_, index) => seqs[0]! + 2 + index));
  await expect(page).toHaveURL(new RegExp(`at=${played.at(-1)}(&|$)`));
});

test('T-PAST a point that is being built shows how far it is and its place in the queue, and can be left', async ({
  page,
  hub,
}) => {
  let left = 2;
  await page.route(/\/ui\/api\/counts\?as_of=200/, async (route) => {
    if (left-- <= 0) return route.fallback();
    await route.fulfill({
      status: 202,
      headers: { 'Content-Type': 'application/json', 'Retry-After': '1', 'X-As-Of-Seq': '200' },
      body: JSON.stringify({ message: '', code: 'building', asOf: 200, done: 120, total: 200, before: 2 }),
    });
  });
  await page.goto(hub.url('time?at=200'));
  const bar = page.getByRole('progressbar');
  await expect(bar).toHaveAttribute('max', '200');
  await expect(bar).toHaveAttribute('value', '120');
  await expect(page.locator('main')).toContainText('앞에 2개가 기다립니다');
  await expect(page.locator('[data-then="200"]')).toBeVisible();
  await expect(bar).toHaveCount(0);

  left = Infinity;
  await page.goto(hub.url('time?at=200'));
  await expect(bar).toHaveAttribute('value', '120');
  const asked = requests(page);
  await page.getByRole('button', { name: '그만두기' }).click();
  await expect(bar).toHaveCount(0);
  await expect(page).not.toHaveURL(/at=200/);
  await expect(page.locator('[data-then]')).toBeVisible();
  expect(asked.filter((url) => url.searchParams.get('as_of') === '200')).toEqual([]);
});

test('T-PAST what has no past says so, also where the whole page has none', async ({ page, hub, faults }) => {
  faults.allow(/Failed to load resource.*400/);
  await visit(page, hub.url('health?as_of=300'));
  const box = page.locator('main').getByRole('alert').first();
  await expect(box).toBeVisible();
  await box.getByRole('button', { name: '지금 보기' }).click();
  await expect(page).toHaveURL(hub.url('health'));
  await page.route(/\/ui\/api\/agents\?as_of=/, (route) =>
    route.fulfill({
      status: 400,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ error: 'x', code: 'as_of_not_supported' }),
    }),
  );
  await visit(page, hub.url('agents?as_of=300'));
  await expect(page.locator('main').getByRole('alert').first()).toBeVisible();
  await expect(page.locator('main a[data-row]')).toHaveCount(0);
});

test('T-PAST a difference has the counts of the command', async ({ page, serve }) => {
  const server = await serve({ args: ['--clock', '2026-11-23T03:00:00Z'] });
  const head = await server.settle();
  const db = /--db ([^\s'"]+)/.exec(server.output)?.[1] ?? /"?db"?=(\S+)/.exec(server.output)![1]!;
  const [a, b] = [300, Math.min(head, 460)];
  const said = JSON.parse(
    execFileSync(binary, ['replay', 'diff', String(a), String(b), '--db', db, '--json', '--limit', '0'], {
      encoding: 'utf8',
    }),
  ) as { tables: { table: string; added: number; removed: number; changed: number; rows: number }[] };
  await visit(page, server.url(`time/diff?a=${a}&b=${b}&raw=1`));
  const wanted = said.tables.filter(({ added, removed, changed }) => added + removed + changed > 0);
  await expect(page.locator('main tr[data-table]')).toHaveCount(wanted.length);
  for (const { table, added, removed, changed, rows } of wanted) {
    const cells = page.locator(`main tr[data-table="${table}"] .count`);
    expect(await cells.allInnerTexts()).toEqual(
      [added, removed, changed, rows].map((count) => count.toLocaleString('ko-KR')),
    );
  }
  for (const [group, table] of [
    ['tasks', 'tasks'],
    ['conversations', 'threads'],
    ['runs', 'runs'],
    ['queue', 'work'],
  ] as const) {
    const count = said.tables.find((one) => one.table === table)!;
    await expect(page.locator(`main [data-group="${group}"] strong`)).toHaveText(
      (count.added + count.removed + count.changed).toLocaleString('ko-KR'),
    );
  }
  await page.getByRole('checkbox', { name: '표로 보기' }).click();
  await expect(page.locator('main tr[data-table]')).toHaveCount(0);
  await expect(page.getByRole('heading', { level: 2, name: /^대화/ })).toBeVisible();
});

test('T-PAST a comparison without points says what to write, and offers yesterday', async ({ page, hub }) => {
  await visit(page, hub.url('time/diff'));
  await expect(page.locator('main')).toContainText('어제 18:00, -2h, seq 300');
  await page.locator('main').getByRole('button', { name: '하루 전과 지금 비교' }).click();
  await expect(page).toHaveURL(/a=\d+&b=head/);
  await expect(page.locator('main form input').first()).toHaveValue(/^seq \d+$/);
  await expect(page.locator('main [data-group="conversations"] strong')).not.toHaveText('0');
});

test('T-PAST what changed since yesterday is one click from Now, and Back leads there', async ({ page, hub }) => {
  await visit(page, hub.url());
  await page.locator('main').getByRole('link', { name: '바뀐 것' }).click();
  await expect(page).toHaveURL(/time\/diff\?a=\d+&b=head/);
  await expect(page.locator('main [data-group="conversations"] strong')).not.toHaveText('0');
  await page.goBack();
  await expect(page.getByRole('link', { name: '바뀐 것' })).toBeVisible();
});

test('T-PAST a difference begins with what is newly stuck, done, given up and there', async ({ page, hub }) => {
  const head = (await hub.api<{ seq: number }>('health')).seq;
  const url = `time/diff?a=100&b=${head}`;
  await visit(page, hub.url(url));
  const turn = (id: string) => page.locator(`main [data-turn="${id}"]`);
  const { rows, tables } = await hub.api(`replay/diff?a=100&b=${head}&table=tasks,threads,work&limit=1000`);
  const became = (table: string, column: string, ...values: string[]) =>
    rows.filter(
      (row: any) =>
        row.table === table &&
        row.kind !== 'removed' &&
        row.columns.some(
          (one: any) => one.name === column && values.includes(one.after) && !values.includes(one.before),
        ),
    ).length;
  const created = tables
    .filter(({ table }: any) => table === 'tasks' || table === 'threads')
    .reduce((sum: number, { added }: any) => sum + added, 0);
  const wanted = {
    stuck: became('tasks', 'status', 'blocked') + became('threads', 'outcome', 'blocked', 'no_reply'),
    done: became('tasks', 'status', 'completed') + became('threads', 'outcome', 'done'),
    created,
  };
  for (const [id, count] of Object.entries(wanted)) {
    expect(count, id).toBeGreaterThan(0);
    await expect(turn(id).locator('strong')).toHaveText(count.toLocaleString('ko-KR'));
  }
  // It stands before the details, which it replaces by those of one kind.
  const details = page.getByRole('heading', { level: 2 });
  expect((await turn('stuck').boundingBox())!.y).toBeLessThan((await details.first().boundingBox())!.y);
  await turn('stuck').click();
  await expect(page).toHaveURL(new RegExp('only=stuck'));
  await expect(details).toHaveCount(1);
  await expect(page.locator('main section li')).toHaveCount(wanted.stuck);
  const { subjects } = await hub.api(`replay/diff?a=100&b=${head}&table=threads&limit=1000`);
  const titles = subjects.map(({ text }: any) => text).filter(Boolean);
  const shownFirst = await page.locator('main section li .about').first().innerText();
  expect(titles).toContain(shownFirst);
  await page.locator('main section li a').first().click();
  await expect(page).toHaveURL(/\/ui\/(c|tasks)\//);
  await page.goBack();
  await turn('stuck').click();
  await expect(page).not.toHaveURL(/only=/);

  // The events between are all events; how many of them are internal is said.
  const between = await hub.api(`events/histogram?from=101&to=${head}&buckets=1&by=internal`);
  await expect(page.locator('main')).toContainText(
    `그 사이의 이벤트 ${(head - 100).toLocaleString('ko-KR')}개 (그중 내부 기록 ${between.buckets[0].counts[0].toLocaleString('ko-KR')}개)`,
  );
});

/** Sizes at which questions are answered. Clicks and keys are counted; words that are typed count once. */
const klm = { laptop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

for (const [device, viewport] of Object.entries(klm)) {
  test(`T-KLM 5 what happened at a time: three (${device})`, async ({ page, hub }) => {
    await page.setViewportSize(viewport);
    await visit(page, hub.url());
    let cost = 0;
    if (device === 'laptop') await page.keyboard.press('t');
    else await page.getByRole('button', { name: '시점 열기' }).click();
    cost++;
    await expect(page.getByRole('textbox', { name: /시각/ })).toBeFocused();
    await page.keyboard.type('03:12');
    cost++;
    await page.keyboard.press('Enter');
    cost++;
    await expect(page).toHaveURL(/as_of=\d+/);
    const seq = Number(new URL(page.url()).searchParams.get('as_of'));
    // It is the last event that had happened then, in the zone of the page.
    const at = Date.parse('2026-11-23T03:12:00+09:00');
    const { events: around } = await hub.api(`events?scope=all&after=${seq - 1}&limit=2`);
    expect(around[0].time).toBeLessThanOrEqual(at);
    await expect(page.getByRole('region', { name: '과거 시점 보기' })).toContainText(/2026-11-2[23]/);
    await expect(page.locator('main h1')).toHaveText('지금');
    const problems = await hub.api(`problems?as_of=${seq}`);
    await expect(page.locator('main li a[data-row]')).toHaveCount(problems.problems.length);
    expect(cost).toBeLessThanOrEqual(3);
    // Esc leaves.
    await page.keyboard.press('Escape');
    await expect(page).not.toHaveURL(/as_of/);
  });

  test(`T-KLM 12 what changed since a time: four (${device})`, async ({ page, hub }) => {
    await page.setViewportSize(viewport);
    await visit(page, hub.url());
    let cost = 0;
    if (device === 'laptop') await page.keyboard.press('t');
    else await page.getByRole('button', { name: '시점 열기' }).click();
    cost++;
    await expect(page.getByRole('textbox', { name: /시각/ })).toBeFocused();
    await page.keyboard.type('어제 18:00');
    cost++;
    await page.keyboard.press('Enter');
    cost++;
    await page.getByRole('link', { name: '지금과 비교' }).click();
    cost++;
    await expect(page.locator('main [data-group="conversations"] strong')).not.toHaveText('0');
    await expect(page.locator('main [data-group="conversations"]')).toBeInViewport();
    await expect(page.getByRole('heading', { level: 2 }).first()).toBeInViewport();
    expect(cost).toBeLessThanOrEqual(4);
  });
}
