import { expectAccessible, violations } from './stage/axe.ts';
import { writeHome } from './stage/server.ts';
import { expect, move, show, shown, test, visit } from './stage/test.ts';
import { enc, everySession } from './stage/tour.ts';

// One page after another, in the same document: each has to be whole also after what was shown before.
for (const [what, paths] of Object.entries({
  'now, conversations and tasks': ['', 'c', 'tasks', 'tasks?view=list', 'tasks?view=deps'],
  'agents, searches and what waits for people': [
    'agents',
    'agents/eden',
    'search?q=webhook',
    'inbox?tab=decided',
    'owed?open=false',
    'tools?tab=rights',
  ],
  'health, log, settings and why': [
    'health',
    'log?scope=all&at=120',
    'log?as_of=200',
    'settings',
    'settings/config',
    'why',
  ],
})) {
  test(`T-AXE ${what}, full`, async ({ page, hub }) => {
    test.setTimeout(180_000);
    await visit(page, hub.url('nothing'));
    for (const path of paths) {
      await move(page, hub.url(path));
      await expectAccessible(page, path || 'now');
    }
  });
}

test('T-AXE a conversation, its events and its details', async ({ page, hub }) => {
  test.setTimeout(120_000);
  const blocked = (await everySession(hub)).find(
    ({ outcome, threads }) => outcome === 'blocked' && threads.length > 0,
  )!;
  for (const path of [
    `c/${enc(blocked.workSessionId)}/${enc(blocked.threads[0]!.id)}`,
    `c/${enc(blocked.workSessionId)}?process=1`,
    `c/${enc(blocked.workSessionId)}?tab=raw`,
  ]) {
    await show(page, hub.url(path));
    await expectAccessible(page, path);
  }
});

test('T-AXE a task, and the views of an agent', async ({ page, hub }) => {
  test.setTimeout(120_000);
  const { tasks } = await hub.api('tasks?limit=1');
  await visit(page, hub.url(`tasks/${enc(tasks[0].id)}?agent=${enc(tasks[0].agentId)}`));
  await expectAccessible(page, 'task');
  for (const tab of ['queue', 'continuation', 'tasks', 'plans', 'sessions', 'policy', 'events']) {
    await move(page, hub.url(`agents/eden?tab=${tab}`));
    expect(await violations(page), tab).toEqual([]);
  }
});

test('T-AXE a flow, its selection and its table', async ({ page, hub }) => {
  test.setTimeout(120_000);
  const { runs } = await hub.api('runs?state=ok&limit=1');
  for (const path of [
    `flow/${enc((await everySession(hub)).find(({ threads }) => threads.length > 2)!.workSessionId)}`,
    `flow/${enc(runs[0].runId)}#${enc(`run:${runs[0].runId}`)}`,
    `flow/${enc(runs[0].runId)}?view=table`,
  ]) {
    await show(page, hub.url(path));
    await expectAccessible(page, path);
  }
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 640 });
    for (const view of ['', '?view=table']) {
      await move(page, hub.url(`flow/${enc(runs[0].runId)}${view}#${enc(`run:${runs[0].runId}`)}`));
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  }
});

test('T-AXE flow and why, empty and with errors', async ({ page, serve, folder, faults }) => {
  test.setTimeout(180_000);
  faults.allow(/Failed to load resource/);
  await writeHome(folder, []);
  const server = await serve({ home: folder, args: ['--follow'] });
  for (const path of ['why', 'why?tab=observed']) {
    await show(page, server.url(path));
    await expectAccessible(page, `${path} empty`);
  }
  for (const path of ['flow/x', 'why/1465892000000000001']) {
    await move(page, server.url(path));
    await expectAccessible(page, `${path} of nothing`);
  }
  await page.route(/\/ui\/api\/(?!agents$|health$)/, (route) =>
    route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":"x","code":"internal","hint":"h"}' }),
  );
  for (const path of ['flow/x', 'why']) {
    await page.goto(server.url(path));
    await expect(page.locator('main h1').first()).toBeVisible();
    await expectAccessible(page, `${path} error`);
  }
});

test('T-AXE empty', async ({ page, serve, folder }) => {
  test.setTimeout(150_000);
  await writeHome(folder, []);
  const server = await serve({ home: folder, args: ['--follow'] });
  for (const path of ['', 'c', 'tasks', 'agents', 'search', 'search?q=x', 'health', 'log']) {
    await show(page, server.url(path));
    await expectAccessible(page, `${path} empty`);
  }
});

test('T-AXE errors', async ({ page, hub, faults }) => {
  test.setTimeout(150_000);
  faults.allow(/Failed to load resource/);
  await page.route(/\/ui\/api\/(?!agents$|health$)/, (route) =>
    route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":"x","code":"internal","hint":"h"}' }),
  );
  for (const path of ['', 'c', 'tasks', 'agents', 'search?q=x', 'health', 'log', 'nothing/here', 'go/x']) {
    await show(page, hub.url(path));
    await expectAccessible(page, `${path} error`);
  }
});

test('T-AXE the past, the palette, the help and the connection', async ({ page, hub }) => {
  await visit(page, hub.url('c?as_of=400'));
  await expectAccessible(page, 'past');
  await visit(page, hub.url());
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('option').first()).toBeVisible();
  expect(await violations(page), 'palette').toEqual([]);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toBeVisible();
  expect(await violations(page), 'help').toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /실시간/ }).click();
  expect(await violations(page), 'connection').toEqual([]);
});

const walked = ['', 'c', 'tasks', 'agents', 'agents/eden', 'search?q=webhook', 'health', 'log?scope=all&at=120', 'why'];

test('T-AXE no page scrolls sideways at 320 px and at 390 px', async ({ page, hub }) => {
  test.setTimeout(120_000);
  for (const path of walked) {
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 640 });
      await show(page, hub.url(path));
      const [wide, main] = await page.evaluate(() => {
        const main = document.querySelector('main')!;
        return [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth];
      });
      expect(wide, `${path} ${width}`).toBeLessThanOrEqual(0);
      expect(main, `${path} ${width}`).toBeLessThanOrEqual(0);
    }
    expect(await violations(page), `${path} phone`).toEqual([]);
  }
});

for (const path of walked) {
  test(`T-AXE ${path || 'now'} can be walked with the keyboard, and the focus is always seen`, async ({
    page,
    hub,
  }) => {
    await visit(page, hub.url(path));
    const wanted = await page.evaluate(() => {
      const focusable =
        'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), summary, [tabindex="0"]';
      return [...document.querySelectorAll<HTMLElement>(focusable)].filter(
        (element) => element.tabIndex >= 0 && element.checkVisibility({ visibilityProperty: true }),
      ).length;
    });
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    const reached = new Set<string>();
    for (let step = 0; step < Math.min(wanted + 20, 220); step++) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        if (!element || element === document.body) return null;
        element.dataset.reached ??= String(Math.random());
        const box = element.getBoundingClientRect();
        // The ring may be drawn by the element, by what it stretches over its row or card, or by that row or card.
        const rings = [
          getComputedStyle(element),
          getComputedStyle(element, '::after'),
          ...[element.parentElement, element.closest('li, article, [role=row]')]
            .filter((at) => at !== null)
            .map((at) => getComputedStyle(at)),
        ];
        const drawn =
          element.matches('input, select') ||
          rings.some(({ outlineStyle, outlineWidth }) => outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2);
        const seen = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
        return { id: element.dataset.reached, drawn, seen, html: element.outerHTML.slice(0, 120) };
      });
      if (at === null) {
        if (reached.size > 0) break;
        continue;
      }
      expect(at.drawn, `focus ring: ${at.html}`).toBe(true);
      expect(at.seen, `focus in view: ${at.html}`).toBe(true);
      reached.add(at.id);
    }
    // Groups such as tabs and lists of options have one stop each.
    expect(reached.size).toBeGreaterThan(Math.min(wanted, 200) * 0.6);
  });
}

test('T-AXE the check notices what is wrong, also what comes later', async ({ page, hub }) => {
  await visit(page, hub.url());
  expect(await violations(page)).toEqual([]);
  await page.evaluate(() => document.querySelector('main')!.append(document.createElement('img')));
  expect((await violations(page)).join('\n')).toMatch(/^image-alt: img .+$/);
  await page.evaluate(() => {
    const text = Object.assign(document.createElement('p'), { textContent: 'pale' });
    text.style.cssText = 'color: #ccc; background: #ddd';
    document.querySelector('main')!.append(text);
  });
  expect((await violations(page)).map((found) => found.split(':')[0])).toEqual(['color-contrast', 'image-alt']);
});

test('T-AXE opening a page moves the focus to its heading, and closing gives it back', async ({ page, hub }) => {
  await visit(page, hub.url());
  await page.getByRole('link', { name: '작업', exact: true }).first().click();
  await expect(page.getByRole('heading', { level: 1 })).toBeFocused();
  const opener = page.getByRole('button', { name: /찾기 또는 이동/ });
  await opener.focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog').getByRole('combobox')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(opener).toBeFocused();
});

test('T-I18N texts that are 40 % longer break no layout', async ({ page, hub }) => {
  test.setTimeout(90_000);
  // The words of the page reach the document as text nodes; each is made longer as it comes.
  await page.addInitScript(() => {
    const longer = (node: Text) => {
      const text = node.data;
      if (
        text.trim().length < 2 ||
        text.endsWith('~') ||
        node.parentElement?.closest('bdi, code, time, script, style, .markdown')
      )
        return;
      node.data = `${text}${'~'.repeat(Math.ceil(text.trim().length * 0.4))}`;
    };
    new MutationObserver((changes) => {
      for (const { addedNodes, target } of changes) {
        for (const node of addedNodes) {
          if (node instanceof Text) longer(node);
          else if (node instanceof Element) {
            const walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
            for (let text = walk.nextNode(); text; text = walk.nextNode()) longer(text as Text);
          }
        }
        if (target instanceof Text) longer(target);
      }
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
  for (const width of [1440, 1024, 390]) {
    await page.setViewportSize({ width, height: 800 });
    for (const path of ['', 'c', 'tasks', 'agents', 'search?q=webhook', 'health', 'log?at=120']) {
      await show(page, hub.url(path));
      const faults = await page.evaluate(() => {
        const main = document.querySelector('main')!;
        const found: string[] = [];
        if (document.documentElement.scrollWidth > innerWidth) found.push('the page scrolls sideways');
        if (main.scrollWidth > main.clientWidth) found.push('the content scrolls sideways');
        for (const button of document.querySelectorAll<HTMLElement>('main button, header button')) {
          if (
            button.checkVisibility() &&
            button.scrollWidth > button.clientWidth + 2 &&
            getComputedStyle(button).overflow === 'visible'
          )
            found.push(`cut: ${button.outerHTML.slice(0, 120)}`);
        }
        // A list shows what is chosen if it is at least as wide as one with that choice alone.
        for (const select of main.querySelectorAll('select')) {
          if (!select.checkVisibility() || !select.selectedOptions[0]) continue;
          const alone = select.cloneNode(false) as HTMLSelectElement;
          alone.append(select.selectedOptions[0].cloneNode(true));
          Object.assign(alone.style, { position: 'absolute', width: 'max-content', minWidth: '0', maxWidth: 'none' });
          select.after(alone);
          if (alone.offsetWidth > select.offsetWidth + 1) found.push(`cut: ${select.ariaLabel}`);
          alone.remove();
        }
        return found;
      });
      expect(faults, `${path} ${width}`).toEqual([]);
    }
  }
});
