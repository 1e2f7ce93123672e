import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Download } from '@playwright/test';
import { playDiscord } from './stage/discord.ts';
import { expect, test, visit } from './stage/test.ts';

const shows = [
  { channel: 'discord', on: 'a laptop', size: { width: 1440, height: 900 } },
  { channel: 'discord', on: 'a phone', size: { width: 390, height: 844 } },
  { channel: 'telegram', on: 'a phone', size: { width: 390, height: 844 } },
  { channel: 'slack', on: 'a laptop', size: { width: 1440, height: 900 } },
];

for (const { channel, on, size } of shows) {
  test(`T-FILES a picture and a document that a person posted in ${channel} are opened on ${on}`, async ({
    page,
    context,
    faults,
  }) => {
    test.setTimeout(120_000);
    // What the program told the agent about a request is shown as it is once its line is opened.
    faults.allow(/^console: visible text: \[outcome\]/);
    // Nothing runs in the tab of a picture, also not what the browser or this test would put into it.
    faults.allow(/^console: (Applying inline style|Blocked script execution).*\/api\/files\//s);
    await page.setViewportSize(size);
    const play = await playDiscord(channel);
    try {
      await visit(page, play.url('chat/ruda'));
      const sessions = page.getByRole('combobox', { name: '세션' });
      const inChannel = sessions.locator('option').filter({ hasText: '코드 리뷰 부탁해줘' });
      await sessions.selectOption((await inChannel.getAttribute('value'))!);
      const link = (name: string) => page.getByRole('link', { name, exact: true });
      const item = (name: string) =>
        page
          .getByRole('list', { name: '파일' })
          .getByRole('listitem')
          .filter({ has: link(name) });
      await expect(item('screen.png')).toContainText(/\d+ B/);
      await expect(item('report.html')).toContainText(/\d+ B/);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(size.width);

      // A picture is shown, in a tab that cannot reach this one.
      const opening = context.waitForEvent('page');
      await link('screen.png').click();
      const picture = await opening;
      await picture.waitForLoadState();
      expect(
        await picture.evaluate(() => [document.contentType, document.images[0]?.naturalWidth, window.opener]),
      ).toEqual(['image/png', 64, null]);
      await picture.close();

      // Everything else is saved with its name and never shown: this document would run a script.
      const saved = new Promise<Download>((done) => {
        page.on('download', done);
        context.on('page', (tab) => tab.on('download', done));
      });
      await link('report.html').click();
      const file = await saved;
      expect(file.suggestedFilename()).toBe('report.html');
      const content = await readFile(await file.path());
      expect(content.toString()).toContain('실패한 점검은 없습니다.');
      const address = new URL((await link('report.html').getAttribute('href'))!);
      expect(address.pathname.split('/').at(-1)).toBe(createHash('sha256').update(content).digest('hex'));
      const answer = await fetch(address);
      expect(answer.headers.get('content-type')).toBe('application/octet-stream');
      expect(answer.headers.get('content-disposition')).toMatch(/^attachment/);

      // A file that is no longer there is said to be gone.
      faults.allow(/Failed to load resource.*404/);
      const gone = await page.request.get(address.href.replace(/[0-9a-f]{64}/, '0'.repeat(64)));
      expect(gone.status()).toBe(404);
      expect((await gone.json()).code).toBe('not_found');
    } finally {
      await page.goto('about:blank');
      await play.stop();
    }
  });
}
