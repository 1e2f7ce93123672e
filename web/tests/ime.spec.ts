import type { CDPSession } from '@playwright/test';
import { bubbles, composer, expectBubbles, withGateway, writeTeam } from './stage/chat.ts';
import { expect, test, visit, type Page } from './stage/test.ts';

/** An IME, driven through the browser's own interface for it. */
class Ime {
  constructor(
    readonly page: Page,
    readonly cdp: CDPSession,
  ) {}

  /** Composes a text step by step, as syllables grow. */
  async compose(...steps: string[]) {
    for (const text of steps) {
      await this.key('Process', 'KeyA', 229);
      await this.cdp.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
    }
  }
  async key(key: string, code: string, keyCode: number) {
    const event = { key, code, windowsVirtualKeyCode: keyCode, nativeVirtualKeyCode: keyCode };
    await this.cdp.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...event });
    await this.cdp.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }
  /** The text of the composition goes into the field. */
  async commit(text: string) {
    await this.cdp.send('Input.insertText', { text });
  }
}

async function start(
  page: Page,
  serve: (options: { home: string; args: string[] }) => Promise<{ url(path: string): string; api(path: string): any }>,
  folder: string,
) {
  await writeTeam(folder);
  const server = await serve({ home: folder, args: withGateway });
  await visit(page, server.url('chat/eden'));
  await composer(page).focus();
  return { server, ime: new Ime(page, await page.context().newCDPSession(page)) };
}

test('T-IME one Enter after Hangul sends once, with the whole text', async ({ page, serve, folder }) => {
  const { server, ime } = await start(page, serve, folder);
  for (const [index, second] of [false, true].entries()) {
    await ime.compose('ㅇ', '안', '안녀', '안녕', '안녕하세요');
    // Nothing of the page listens while it composes, and nothing is sent yet.
    expect(await bubbles(page)).toHaveLength(2 * index);
    await ime.key(second ? 'Enter' : 'Process', 'Enter', 229);
    await ime.commit('안녕하세요');
    // macOS reports the key a second time, after the composition.
    if (second) await ime.key('Enter', 'Enter', 13);
    await expect(composer(page)).toHaveValue('');
    await expect.poll(() => bubbles(page)).toHaveLength(2 * index + 2);
  }
  await expectBubbles(page, ['>안녕하세요', '<받았습니다: 안녕하세요', '>안녕하세요', '<받았습니다: 안녕하세요']);
  const { events } = await server.api('events?scope=all&type=run.queued&limit=10');
  expect(events.map(({ data }: { data: { message: string } }) => data.message)).toEqual(['안녕하세요', '안녕하세요']);
  expect(page.url()).toContain('chat/eden');
  // Enter without a composition sends as everywhere, and Shift-Enter makes a line.
  await ime.compose('하', '한');
  await ime.commit('한');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('b');
  await expect(composer(page)).toHaveValue('한\nb');
  await page.keyboard.press('Enter');
  await expect(composer(page)).toHaveValue('');
  await expect.poll(() => bubbles(page)).toHaveLength(6);
});

test('T-IME Enter in a candidate window of Japanese only confirms', async ({ page, serve, folder }) => {
  const { ime } = await start(page, serve, folder);
  await ime.compose('に', 'にほ', 'にほん', '日本');
  await ime.key('Process', 'Enter', 229);
  await ime.commit('日本');
  await expect(composer(page)).toHaveValue('日本');
  expect(await bubbles(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await expectBubbles(page, ['>日本', '<받았습니다: 日本']);
});

test('T-IME a composition that a key goes on with, or that ends by itself, sends nothing', async ({
  page,
  serve,
  folder,
}) => {
  const { ime } = await start(page, serve, folder);
  await ime.compose('하');
  await ime.key('Process', 'Enter', 229);
  await ime.compose('한');
  await ime.commit('한');
  await expect(composer(page)).toHaveValue('한');
  await ime.compose('한글'.slice(1));
  await page.getByRole('heading', { level: 1 }).click();
  await expect(composer(page)).toHaveValue('한글');
  expect(await bubbles(page)).toEqual([]);
});
