import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { violations } from './stage/axe.ts';
import { bubbles, composer, expectBubbles, pairConversation, say, withGateway, writeTeam } from './stage/chat.ts';
import { binary, Server, until, writeHome, type Options } from './stage/server.ts';
import { expect, test, visit, type Page } from './stage/test.ts';
import { enc } from './stage/tour.ts';

// What a cut connection, or a server that is away, leaves in the console.
const cuts = [
  /WebSocket connection to .* failed/,
  /Failed to load resource: net::ERR_/,
  /WebSocket is already in CLOSING/,
];

const whole = Array.from({ length: 60 }, (_, index) => `조각${index}`).join(' ') + ' 끝.';
/** The commands that complete what is typed. */
const commands = (page: Page) => page.getByRole('listbox', { name: '명령 목록' }).getByRole('option');

const echo = (text: string) => `<받았습니다: ${text}`;

/** Texts of the messages of people in the log, in order: each request is one of them. */
async function asked(server: Server): Promise<string[]> {
  const { events } = await server.api('events?scope=all&type=run.queued&limit=500');
  return events.map(({ data }: { data: { message: string } }) => data.message).sort();
}

async function openChat(
  page: Page,
  serve: (options?: Options) => Promise<Server>,
  folder: string,
  path = 'chat/eden',
): Promise<Server> {
  await writeTeam(folder);
  const server = await serve({ home: folder, args: withGateway });
  await visit(page, server.url(path));
  return server;
}

test('T-CHAT a message is shown at once, the answer grows, and both are there once, also after a reload', async ({
  page,
  serve,
  folder,
}) => {
  const server = await openChat(page, serve, folder);
  await expect(page.getByText('아직 주고받은 메시지가 없습니다')).toBeVisible();
  await say(page, '천천히 말해 줘');
  await expect(page.locator('article.own')).toHaveText(/천천히 말해 줘/);
  await expect(composer(page)).toHaveValue('');
  // It grows: no text is shown twice, and none is lost.
  const writing = page.locator('article.writing .text');
  let before = '';
  for (let step = 0; step < 4; step++) {
    await expect.poll(async () => (await writing.textContent())!.length).toBeGreaterThan(before.length);
    const now = (await writing.textContent())!.trim();
    expect(whole.startsWith(now), now).toBe(true);
    before = now;
  }
  await expectBubbles(page, ['>천천히 말해 줘', `<${whole}`]);
  await say(page, '목록 보여 줘');
  await expectBubbles(page, [
    '>천천히 말해 줘',
    `<${whole}`,
    '>목록 보여 줘',
    '<찾아보겠습니다.',
    '<에이전트를 모두 찾았습니다.',
  ]);
  const tool = page.locator('details.tool');
  await expect(tool).toHaveCount(1);
  await expect(tool.locator('summary')).toHaveText(/도구\s+agents_list\s+✓\s+끝남\s+\d+ ms/);
  await tool.locator('summary').click();
  await expect(tool.locator('pre').last()).toContainText('"requester":"eden"');
  await page.reload();
  await expectBubbles(page, [
    '>천천히 말해 줘',
    `<${whole}`,
    '>목록 보여 줘',
    '<찾아보겠습니다.',
    '<에이전트를 모두 찾았습니다.',
  ]);
  expect(await asked(server)).toEqual(['목록 보여 줘', '천천히 말해 줘']);
});

test('T-CHAT what waits says how many are ahead, and Escape stops what is being answered', async ({
  page,
  serve,
  folder,
}) => {
  await openChat(page, serve, folder);
  await say(page, '천천히 말해 줘');
  await expect(page.locator('article.writing .text')).toContainText('조각5');
  await say(page, '센다 1');
  await say(page, '센다 2');
  await expect(page.locator('article.own').nth(1)).toContainText('앞에 1개');
  await expect(page.locator('article.own').nth(2)).toContainText('앞에 2개');
  await expect(page.locator('.queue')).toContainText('대기 2개');
  await composer(page).press('Escape');
  await expect(page.getByText('여기서 멈췄습니다.')).toBeVisible();
  await expect.poll(() => bubbles(page)).toHaveLength(6);
  const all = await bubbles(page);
  expect(all.slice(2)).toEqual(['>센다 1', '<1번을 받았습니다.', '>센다 2', '<2번을 받았습니다.']);
  expect(whole.startsWith(all[1]!.slice(1)) && all[1]!.length < whole.length).toBe(true);
  await expect(page.getByRole('button', { name: '멈춤' })).toBeDisabled();
});

test('T-CHAT a double click, and two keys at once, send once', async ({ page, serve, folder }) => {
  const server = await openChat(page, serve, folder);
  await composer(page).fill('한 번');
  await page.getByRole('button', { name: '보내기', exact: true }).dblclick();
  await expectBubbles(page, ['>한 번', echo('한 번')]);
  await composer(page).fill('두 번');
  await composer(page).evaluate((field) => {
    for (const _ of [1, 2]) {
      field.dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Enter', code: 'Enter', bubbles: true, cancelable: true }),
      );
    }
  });
  await expectBubbles(page, ['>한 번', echo('한 번'), '>두 번', echo('두 번')]);
  expect(await asked(server)).toEqual(['두 번', '한 번']);
});

test('T-CHAT a cut in the middle of an answer: it goes on, and what was written meanwhile is sent once', async ({
  page,
  serve,
  relay,
  folder,
  faults,
}) => {
  faults.allow(...cuts);
  await writeTeam(folder);
  const server = await serve({ home: folder, args: withGateway });
  const proxy = await relay(server.port);
  await visit(page, `${proxy.origin}/ui/chat/eden`);
  await say(page, '천천히 말해 줘');
  await expect(page.locator('article.writing .text')).toContainText('조각5');
  proxy.refusing = true;
  proxy.cut();
  await expect(page.getByText('연결이 끊겼습니다')).toBeVisible();
  await say(page, '센다 7');
  await expect(page.locator('article.own').last()).toContainText('보내는 중');
  await composer(page).fill('쓰던 글');
  proxy.refusing = false;
  await expectBubbles(page, ['>천천히 말해 줘', `<${whole}`, '>센다 7', '<7번을 받았습니다.'], 30_000);
  await expect(composer(page)).toHaveValue('쓰던 글');
  for (let round = 1; round <= 5; round++) {
    await say(page, `센다 ${round}`);
    proxy.cut();
  }
  const counted = [1, 2, 3, 4, 5].flatMap((round) => [`>센다 ${round}`, `<${round}번을 받았습니다.`]);
  await expectBubbles(page, ['>천천히 말해 줘', `<${whole}`, '>센다 7', '<7번을 받았습니다.', ...counted], 60_000);
  expect(await asked(server)).toEqual(['센다 1', '센다 2', '센다 3', '센다 4', '센다 5', '센다 7', '천천히 말해 줘']);
});

test('T-CHAT kill -9 of the server in the middle of an answer: the page goes on by itself, every message once', async ({
  page,
  serve,
  folder,
  faults,
}) => {
  test.setTimeout(120_000);
  faults.allow(...cuts);
  const server = await openChat(page, serve, folder);
  await say(page, '센다 1');
  await expectBubbles(page, ['>센다 1', '<1번을 받았습니다.']);
  await say(page, '천천히 말해 줘');
  await expect(page.locator('article.writing .text')).toContainText('조각5');
  await server.stop('SIGKILL');
  await expect(page.getByText('연결이 끊겼습니다')).toBeVisible();
  await say(page, '센다 2');
  await composer(page).fill('쓰던 글');
  const again = await serve({ home: folder, port: server.port, args: withGateway });
  await expect.poll(async () => (await bubbles(page)).at(-1), { timeout: 60_000 }).toBe('<2번을 받았습니다.');
  await expect(page.locator('article.bubble .state')).toHaveCount(0);
  const all = await bubbles(page);
  expect(all.filter((text) => text.startsWith('>'))).toEqual(['>센다 1', '>천천히 말해 줘', '>센다 2']);
  expect(all.filter((text) => text === '<1번을 받았습니다.' || text === '<2번을 받았습니다.')).toHaveLength(2);
  expect(all.filter((text) => text.startsWith('<조각0')).length).toBeLessThanOrEqual(1);
  await expect(composer(page)).toHaveValue('쓰던 글');
  expect(await asked(again)).toEqual(['센다 1', '센다 2', '천천히 말해 줘']);
  await page.reload();
  await expect.poll(() => bubbles(page)).toEqual(all);
});

test('T-CHAT older messages come while scrolling up, and what is read keeps its place', async ({
  page,
  serve,
  folder,
}) => {
  test.setTimeout(120_000);
  await writeTeam(folder);
  const server = await serve({ home: folder, args: withGateway });
  // The page's own way to the gateway fills the session.
  await visit(page, server.url('health'));
  await page.evaluate(async (count) => {
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/ui/gateway`);
    let sent = 0;
    await new Promise<void>((done) => {
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(String(data));
        const over = frame.event === 'chat' && frame.payload.state === 'final';
        if (frame.event !== 'hello-ok' && !over) return;
        if (sent === count) return done();
        sent++;
        const params = { sessionKey: 'agent:eden:main', message: `센다 ${sent}`, idempotencyKey: `fill-${sent}` };
        socket.send(JSON.stringify({ type: 'req', id: String(sent), method: 'chat.send', params }));
      };
    });
    socket.close();
  }, 130);
  await visit(page, server.url('chat/eden'));
  const all = Array.from({ length: 130 }, (_, index) => [`>센다 ${index + 1}`, `<${index + 1}번을 받았습니다.`]).flat();
  await expect(page.getByText('130번을 받았습니다.')).toBeInViewport();
  const log = page.getByRole('log');
  await log.hover();
  let shown = (await bubbles(page)).length;
  expect(shown).toBeLessThan(all.length);
  // Up to the next page: what stood there stands where it stood.
  while (shown < all.length) {
    const before = await bubbles(page);
    expect(before).toEqual(all.slice(-before.length));
    await log.evaluate((box) => box.scrollTo({ top: 0.5 * box.clientHeight }));
    const mark = page
      .locator('article.bubble')
      .filter({ hasText: before[0]!.slice(1) })
      .first();
    const from = (await mark.boundingBox())!.y;
    await expect.poll(async () => (await bubbles(page)).length).toBeGreaterThan(shown);
    await expect.poll(async () => Math.abs((await mark.boundingBox())!.y - from)).toBeLessThan(4);
    shown = (await bubbles(page)).length;
  }
  expect(await bubbles(page)).toEqual(all);
  await log.evaluate((box) => box.scrollTo({ top: 0 }));
  await expect(page.getByText('여기서 시작합니다.')).toBeInViewport();
  // A new message comes at the end and takes the reader nowhere.
  await page.getByRole('button', { name: '맨 아래로' }).click();
  await expect(page.getByText('130번을 받았습니다.')).toBeInViewport();
  await say(page, '센다 131');
  await expect(page.locator('article.bubble').filter({ hasText: '131번을' })).toBeInViewport();
  expect(await bubbles(page)).toEqual([...all, '>센다 131', '<131번을 받았습니다.']);
});

test('T-CHAT sessions, drafts and commands', async ({ page, serve, folder }) => {
  await openChat(page, serve, folder);
  await say(page, '센다 1');
  await expectBubbles(page, ['>센다 1', '<1번을 받았습니다.']);
  await composer(page).fill('기본 세션의 글');
  await page.getByRole('button', { name: '새 세션' }).click();
  await expect(page).toHaveURL(/session=dashboard%3A[0-9a-f]{32}$/);
  await expect(page.getByText('아직 주고받은 메시지가 없습니다')).toBeVisible();
  await expect(composer(page)).toHaveValue('');
  await say(page, '센다 5');
  await expectBubbles(page, ['>센다 5', '<5번을 받았습니다.']);
  const sessions = page.getByRole('combobox', { name: '세션' });
  await expect(sessions.locator('option')).toHaveCount(2);
  await sessions.selectOption({ label: '기본' });
  await expect(page).toHaveURL(/chat\/eden$/);
  await expectBubbles(page, ['>센다 1', '<1번을 받았습니다.']);
  await expect(composer(page)).toHaveValue('기본 세션의 글');
  await page.goBack();
  await expectBubbles(page, ['>센다 5', '<5번을 받았습니다.']);

  await composer(page).fill('/');
  await expect(commands(page).first()).toBeVisible();
  await composer(page).pressSequentially('sta');
  await expect(commands(page)).toHaveText([/\/status/]);
  await composer(page).press('Enter');
  await expect(composer(page)).toHaveValue('/status ');
  await composer(page).press('Enter');
  await expect(page.locator('article.bubble').last()).toContainText('agent eden');
  await expect
    .poll(async () => (await bubbles(page)).slice(0, 3))
    .toEqual(['>센다 5', '<5번을 받았습니다.', '>/status']);
  expect(await bubbles(page)).toHaveLength(4);
});

test('T-CHAT what fails is told', async ({ page, serve, folder }) => {
  await openChat(page, serve, folder);
  await say(page, '고장');
  await expect(page.locator('article.bubble').last()).toContainText('답하지 못했습니다. scripted/echo: not authorised');
  await expect(page.locator('article.bubble')).toHaveCount(2);
  await composer(page).fill('가'.repeat(60_001));
  await expect(page.getByRole('alert').filter({ hasText: '60,000' })).toBeVisible();
  await composer(page).press('Enter');
  await expect(page.locator('article.bubble')).toHaveCount(2);
  await visit(page, page.url().replace('eden', 'stranger'));
  await expect(page.getByText('이런 에이전트가 없습니다')).toBeVisible();
});

test('T-CHAT where agents cannot be spoken to, the page says why', async ({ page, hub, serve, folder }) => {
  await visit(page, hub.url('chat/eden'));
  await expect(page.getByText('게이트웨이 없이 실행 중')).toBeVisible();
  await expect(composer(page)).toHaveCount(0);
  await visit(page, hub.url('chat/eden?as_of=100'));
  await expect(page.getByText('과거가 없습니다')).toBeVisible();
  await writeHome(folder, [{ id: 'eden', name: '이든' }]);
  const follows = await serve({ home: folder, args: ['--follow'] });
  await visit(page, follows.url('chat/eden'));
  await expect(page.getByText('따라 읽기만 합니다')).toBeVisible();
});

test('T-CHAT a viewer reads the chat and sends nothing', async ({ page, serve, folder }) => {
  await writeTeam(folder);
  const viewer = 'a-token-of-a-viewer';
  const config = JSON.parse(await readFile(`${folder}/openclaw.json`, 'utf8'));
  config.ui = { viewers: [{ name: '민수', token: viewer }] };
  await writeFile(`${folder}/openclaw.json`, JSON.stringify(config));
  const write = 'a-token-of-an-operator';
  const server = await serve({ home: folder, args: withGateway, env: { TASK_MONITOR_WRITE_TOKEN: write } });
  const logIn = async (token: string) => {
    await page.getByLabel('토큰').fill(token);
    await page.getByRole('button', { name: '로그인', exact: true }).click();
    await expect(page.getByLabel('토큰')).toHaveCount(0);
  };
  await page.goto(server.url('chat/eden'));
  await logIn(write);
  await say(page, '센다 3');
  await expectBubbles(page, ['>센다 3', '<3번을 받았습니다.']);
  await page.context().clearCookies();
  await page.reload();
  await logIn(viewer);
  await expectBubbles(page, ['>센다 3', '<3번을 받았습니다.']);
  await expect(page.getByText('읽기 권한만 있는 세션')).toBeVisible();
  await expect(composer(page)).toHaveCount(0);
  await page.getByRole('button', { name: '다른 토큰으로 로그인' }).click();
  await logIn(write);
  await say(page, '센다 4');
  await expectBubbles(page, ['>센다 3', '<3번을 받았습니다.', '>센다 4', '<4번을 받았습니다.']);
});

test('T-CHAT a prompt of the program is one line that opens', async ({ page, serve, folder }) => {
  const server = await openChat(page, serve, folder);
  const args = ['tools', 'call', 'task_start', '{"description": "결제 배포", "requires_approval": true}'];
  await promisify(execFile)(binary, [...args, '--agent', 'eden', '--state-dir', folder]);
  const { approvals } = await server.api('approvals');
  await server.api(`approvals/${enc(approvals[0].id)}/approve`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  });
  const prompt = page.locator('article.bubble.note');
  await expect(prompt).toHaveCount(1);
  const body = prompt.locator('.text');
  await expect(body).toBeHidden();
  await expect(prompt.locator('summary')).toHaveText('자동 안내: ‘결제 배포’ 작업이 승인되었으니 시작하라는 알림');
  const { height } = (await prompt.locator('summary').boundingBox())!;
  const line = await prompt
    .locator('summary')
    .evaluate((summary) => parseFloat(getComputedStyle(summary).fontSize) * 2);
  expect(height).toBeLessThanOrEqual(Math.max(line, 44));
  await prompt.locator('summary').focus();
  await page.keyboard.press('Enter');
  await expect(body).toBeVisible();
  await expect(body).toContainText('결제 배포');
});

test('T-CHAT a person steps into a conversation: one agent at once, more after a question', async ({
  page,
  serve,
  folder,
}) => {
  await writeTeam(folder, pairConversation);
  const server = await serve({ home: folder, args: withGateway });
  await until(async () => (await server.api('work-sessions')).sessions.length > 0, 'the conversation');
  const { sessions } = await server.api('work-sessions');
  await visit(page, server.url(`c/${enc(sessions[0].workSessionId)}/${enc(sessions[0].threads[0].id)}`));
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('m');
  await expect(composer(page)).toBeFocused();
  await expect(page.getByText('사람이 보낸 메시지로 표시되어([Human Intervention])')).toBeVisible();
  await expect(page.getByRole('checkbox', { name: '이음' })).toBeChecked();
  await expect(page.getByRole('checkbox', { name: '이든' })).not.toBeChecked();
  await expect(page.getByRole('button', { name: '이음에게 보내기' })).toBeDisabled();
  await say(page, '그 방법은 쓰지 마세요');
  await expect(page.getByText('이음에게 보냄')).toBeVisible();
  expect(await asked(server)).toEqual(['[Human Intervention] 그 방법은 쓰지 마세요']);

  await page.getByRole('checkbox', { name: '이든' }).check();
  await say(page, '둘 다 멈추세요');
  const question = page.getByRole('dialog', { name: /이음.*이든.*보내기/ });
  await expect(question).toContainText('에이전트 2명이 같은 메시지를 받고 각자 답합니다');
  await expect(question).toContainText('둘 다 멈추세요');
  await question.getByRole('button', { name: '돌아가기' }).click();
  await expect(question).toHaveCount(0);
  await expect(composer(page)).toHaveValue('둘 다 멈추세요');
  expect(await asked(server)).toHaveLength(1);
  await composer(page).press('Enter');
  await question.getByRole('button', { name: /보내기/ }).click();
  await expect(page.getByText('이든에게 보냄')).toBeVisible();
  await expect.poll(() => asked(server)).toHaveLength(3);

  await page.getByRole('link', { name: '채팅에서 답 보기' }).first().click();
  await expect(page.getByRole('heading', { level: 1, name: '이음과 이야기' })).toBeVisible();
  await expect.poll(async () => (await bubbles(page))[0]).toBe('>[Human Intervention] 그 방법은 쓰지 마세요');
  // Where nothing can be sent, it says why.
  await page.goBack();
  await page.evaluate(() => history.replaceState(null, '', `${location.pathname}?as_of=2`));
  await page.reload();
  await page.getByRole('button', { name: '대화에 끼어들기' }).click();
  await expect(page.getByText('과거를 보고 있어서')).toBeVisible();
});

test('T-AXE a chat, with an answer that grows and a tool', async ({ page, serve, folder }) => {
  test.setTimeout(90_000);
  await openChat(page, serve, folder);
  await say(page, '목록 보여 줘');
  await expect.poll(() => bubbles(page)).toHaveLength(3);
  await composer(page).fill('/');
  await expect(commands(page).first()).toBeVisible();
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1440, 320]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      expect(await violations(page), `${colorScheme} ${width}`).toEqual([]);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, `sideways at ${width}`).toBeLessThanOrEqual(0);
    }
  }
});
