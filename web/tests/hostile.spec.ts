import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { say, withGateway, writeTeam } from './stage/chat.ts';
import { corpus, plain } from './stage/corpus.ts';
import { type Line, logFile, textOf, writeHome } from './stage/server.ts';
import { expect, move, show, type Page, shown, test, visit } from './stage/test.ts';

const at = Date.parse('2026-11-23T01:00:00Z');
const perSession = 20;

/** One event per string of the corpus: as a message, and other strings as names, ids, tags, errors and keys around it. */
function hostileLines(agents: string[]): Line[] {
  return corpus.flatMap((text, index): Line[] => {
    const other = plain[index % plain.length]!;
    const session = `ws_hostile_${Math.floor(index / perSession)}`;
    const from = agents[index % agents.length]!;
    const to = agents[(index + 1) % agents.length]!;
    const common = {
      fromAgent: from,
      toAgent: to,
      workSessionId: session,
      conversationId: index % 3 === 0 ? `conv ${other}` : `conv-${session}`,
      eventRole: 'conversation.main',
      fromSessionType: 'main',
      toSessionType: 'main',
      topicId: other,
      collabSubTags: [other, text.slice(0, 60)],
      label: other,
      messageIntent: other,
      [other]: { [other]: [other, { [text.slice(0, 80)]: other }] },
    };
    const ts = at + index * 1000;
    return [
      { type: 'a2a.send', agentId: from, ts, data: { ...common, message: text, runId: `run-${index} ${other}` } },
      {
        type:
          index % 4 === 0
            ? 'a2a.response'
            : index % 4 === 1
              ? 'task.blocked'
              : index % 4 === 2
                ? 'a2a.retry'
                : 'a2a.spawn',
        agentId: to,
        ts: ts + 500,
        data: {
          ...common,
          fromAgent: to,
          toAgent: from,
          message: `답: ${text}`,
          replyPreview: text,
          outcome: index % 8 === 0 ? 'blocked' : undefined,
          waitStatus: other,
          waitError: text,
          reason: text,
          error: other,
          errorCode: other,
          taskId: `task_${index}${other}`,
          unblockedBy: [other],
          attempt: 1,
          maxAttempts: 3,
        },
      },
    ];
  });
}

async function writeHostileHome(dir: string) {
  const agents = plain.slice(0, 24).map((name, index) => ({ id: `agent${index}`, name }));
  agents.push({ id: 'eden', name: '이든' });
  await writeHome(dir, agents);
  await writeFile(logFile(dir), textOf(hostileLines(agents.map(({ id }) => id))));
  const tasks = join(dir, 'workspace-eden/tasks');
  await mkdir(tasks, { recursive: true });
  for (const [index, text] of plain.entries()) {
    const line = text.replaceAll('\n', ' ').replaceAll('\u0000', '');
    const about = `# Task: task_h${index}

## Metadata
- **Status:** ${index % 2 === 0 ? 'blocked' : 'in_progress'}
- **Priority:** urgent
- **Created:** 2026-11-22T06:00:00.000Z

## Description
${line}

## Progress
- ${line}

## Last Activity
2026-11-22T16:00:00.000Z
${
  index % 2 === 0
    ? `
## Blocking
\`\`\`json
${JSON.stringify({ blockedReason: line, unblockedBy: ['eden', line], unblockedAction: line, unblockRequestCount: 1 })}
\`\`\`
`
    : ''
}
---
*Managed by task tools*`;
    await writeFile(join(tasks, `task_h${index}.md`), about);
  }
}

/** The page is whole, nothing ran, and no element came from a text. */
async function expectWhole(page: Page, address: RegExp | string) {
  await shown(page);
  // Messages become Markdown when there is time for it.
  await expect(page.locator('main article.message .plain')).toHaveCount(0);
  await expect(page).toHaveURL(address);
  await expect(page.getByRole('navigation').first()).toBeVisible();
  await expect(page.getByRole('heading', { level: 1 }).first()).toBeVisible();
  const found = await page.evaluate(() => ({
    pwned: (window as any).__pwned,
    elements: [
      ...document.querySelectorAll(
        'body :is(script, style, iframe, object, embed, form, base, meta, link, img, svg script, video, audio, math, marquee, template)',
      ),
    ]
      // The page's own components have a class of the compiler; a text cannot give one.
      .filter(
        (element) => !element.closest('[role="dialog"]') && !/\bsvelte-/.test(element.getAttribute('class') ?? ''),
      )
      .map((element) => element.outerHTML.slice(0, 200)),
    handlers: [...document.querySelectorAll('*')].flatMap((element) =>
      [...element.attributes]
        .filter(({ name }) => name.startsWith('on'))
        .map(({ name }) => `${element.tagName} ${name}`),
    ),
    links: [...document.querySelectorAll('a')]
      .map((link) => link.href)
      .filter((href) => href !== '' && !/^(https?|mailto):/.test(href)),
    base: document.baseURI.startsWith(location.origin),
  }));
  expect(found).toEqual({ pwned: undefined, elements: [], handlers: [], links: [], base: true });
}

test.describe('T-SEC-1', () => {
  test('T-SEC-1 the corpus has 400 strings', () => {
    expect(new Set(corpus).size).toBe(400);
  });

  test('T-SEC-1 hostile texts run nothing and leave every page whole', async ({ page, serve, folder, faults }) => {
    test.setTimeout(240_000);
    // The texts themselves are full of what the stage looks for.
    faults.allow(/^console: visible text/);
    await writeHostileHome(folder);
    const server = await serve({ home: folder, args: ['--follow'] });
    page.on('dialog', (dialog) => {
      faults.add(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('popup', (popup) => faults.add(`popup: ${popup.url()}`));

    for (const path of [
      '',
      'c',
      'tasks',
      'tasks?view=list',
      'tasks?view=deps',
      'agents',
      'agents/eden',
      'agents/agent0',
      'health',
    ]) {
      await show(page, server.url(path));
      await expectWhole(page, server.url(path));
    }
    const { sessions, total } = await server.api('work-sessions?status=ACTIVE,QUIET,ARCHIVED&limit=50');
    expect(total ?? sessions.length).toBeGreaterThanOrEqual(corpus.length / perSession);
    for (const { workSessionId, threads } of sessions) {
      const path = `c/${encodeURIComponent(workSessionId)}`;
      await move(page, server.url(path));
      await expectWhole(page, new RegExp(workSessionId));
      for (const thread of threads.slice(0, 2)) {
        await move(page, server.url(`${path}/${encodeURIComponent(thread.id)}`));
        await expectWhole(page, new RegExp(workSessionId));
      }
    }

    // Everything that is shown of one session: all events, its JSON, and an event with the inspector and its JSON.
    const open = `c/${encodeURIComponent(sessions[0].workSessionId)}`;
    await move(page, server.url(`${open}?tab=events`));
    await expect(page.locator('main .talk .events')).toContainText('__pwned');
    await expectWhole(page, /tab=events/);
    await move(page, server.url(`${open}?tab=raw`));
    await expect(page.locator('main .talk .tree .lines')).toContainText('__pwned');
    await expectWhole(page, /tab=raw/);
    await move(page, server.url(`${open}?process=1`));
    await page.locator('main article.message header button').first().click();
    const inspector = page.getByRole('complementary', { name: '자세히' });
    await inspector.locator('summary').filter({ hasText: '원본 JSON' }).click();
    await expect(inspector.locator('.tree .lines')).toContainText('__pwned');
    await expectWhole(page, /#e\d+$/);

    // Hits in names, titles and texts, with their marks.
    for (const word of ['pwned', 'script', 'onerror', 'javascript']) {
      await move(page, server.url(`search?q=${word}`));
      await expect(page.locator('main mark').first()).toBeVisible();
      await expectWhole(page, new RegExp(`search\\?q=${word}`));
    }

    // Names, tasks and sessions in the palette, and what has been opened in the list of recent places.
    await page.keyboard.press('Escape');
    await page.locator('main h1').first().focus();
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog');
    for (const word of ['', 'script', 'svg', 'pwned']) {
      await palette.getByRole('combobox').fill(word);
      await expect(
        palette
          .getByRole('option')
          .filter({ hasText: word || /./ })
          .first(),
      ).toBeVisible();
      if (word === 'pwned')
        await expect(palette.getByRole('option').filter({ hasText: '__pwned' }).nth(3)).toBeVisible();
      expect(await palette.locator('script, style, iframe, img, form, base, link, svg script').count()).toBe(0);
    }
    await page.keyboard.press('Escape');
    await expectWhole(page, /./);
    const { tasks } = await server.api('tasks?limit=200');
    expect(tasks.length).toBeGreaterThan(50);
    for (const task of tasks.slice(0, 10)) {
      await move(page, server.url(`tasks/${encodeURIComponent(task.id)}?agent=${task.agentId}`));
      await expectWhole(page, /\/tasks\//);
    }
  });

  test('T-SEC-1 hostile texts of a person and of an agent run nothing in a chat', async ({
    page,
    serve,
    folder,
    faults,
  }) => {
    test.setTimeout(150_000);
    faults.allow(/^console: visible text/);
    await writeTeam(folder);
    const server = await serve({ home: folder, args: withGateway });
    page.on('dialog', (dialog) => {
      faults.add(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('popup', (popup) => faults.add(`popup: ${popup.url()}`));
    await visit(page, server.url('chat/eden'));
    const each = 50;
    for (let first = 0; first < corpus.length; first += each) {
      // The agent says what it was told.
      const said = corpus
        .slice(first, first + each)
        .join('\n\n')
        .replaceAll('\u0000', '');
      await say(page, `되풀이\n\n${said}`);
      await expect(page.locator('article.bubble')).toHaveCount(2 * (first / each + 1));
    }
    await expect(page.locator('article.bubble .state')).toHaveCount(0);
    await expectWhole(page, server.url('chat/eden'));
    await page.reload();
    await expect(page.locator('article.bubble')).toHaveCount((2 * corpus.length) / each);
    await expectWhole(page, server.url('chat/eden'));
  });

  test('T-SEC-1 hostile addresses, searches and palette inputs run nothing', async ({ page, hub, faults }) => {
    test.setTimeout(120_000);
    faults.allow(/^console: visible text/, /Failed to load resource: the server responded with a status of 4/);
    page.on('dialog', (dialog) => faults.add(`dialog: ${dialog.message()}`));
    for (const [index, text] of plain.entries()) {
      const id = encodeURIComponent(text.replaceAll('\u0000', ''));
      const path = [
        `search?q=${id}`,
        `go/${id}`,
        `c/${id}`,
        `tasks/${id}`,
        `agents/${id}`,
        `c/ws_1/${id}`,
        `?${id}=${id}#${id}`,
      ][index % 7]!;
      if (index % 10 === 0) await page.goto(hub.url(path));
      else await move(page, hub.url(path));
      await expect(page.locator('main')).not.toBeEmpty();
      expect(await page.evaluate(() => (window as any).__pwned)).toBeUndefined();
    }
    await visit(page, hub.url());
    await page.keyboard.press('Control+k');
    for (const text of plain.slice(0, 20)) {
      await page.getByRole('dialog').getByRole('combobox').fill(text);
      await expect(page.getByRole('option').first()).toBeVisible();
    }
    expect(await page.evaluate(() => (window as any).__pwned)).toBeUndefined();
  });

  test('T-SEC-1 the checks notice what would get through', async ({ page, hub, faults }) => {
    faults.allow(/./s);
    await visit(page, hub.url());
    await page.evaluate(() => {
      document.querySelector('main')!.append(document.createElement('form'));
    });
    await expect(expectWhole(page, hub.url())).rejects.toThrow(/<form>/);
  });
});
