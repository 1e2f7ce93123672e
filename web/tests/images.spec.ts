import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, visit } from './stage/test.ts';
import { top } from './stage/server.ts';

// The pictures of the README and of docs/ui.md. `make ui-images` writes them to docs/images; otherwise they only have to be possible.
for (const theme of ['light', 'dark'] as const) {
  test(`T-IMAGES the pictures of the README (${theme})`, async ({ page, hub }, info) => {
    const folder = process.env.UI_IMAGES ? join(top, 'docs/images') : info.outputPath();
    await mkdir(folder, { recursive: true });
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.addInitScript(() => localStorage.setItem('language', 'en'));
    const { sessions } = await hub.api('work-sessions?limit=50');
    const talk = sessions.find(({ threads }: { threads: { outcome: string }[] }) =>
      threads.some(({ outcome }) => outcome === 'blocked'),
    );
    expect(talk, 'a work session with a blocked conversation').toBeTruthy();
    const thread = talk.threads.find(({ outcome }: { outcome: string }) => outcome === 'blocked');
    await visit(page, hub.url(`c/${encodeURIComponent(talk.id)}/${encodeURIComponent(thread.id)}`));
    await expect(page.getByRole('article').first()).toBeVisible();
    await page.screenshot({ path: join(folder, `conversation-${theme}.png`), animations: 'disabled' });
  });
}

test('T-IMAGES the pictures of docs/ui.md', async ({ page, hub }, info) => {
  const folder = process.env.UI_IMAGES ? join(top, 'docs/images') : info.outputPath();
  await mkdir(folder, { recursive: true });
  await page.setViewportSize({ width: 1280, height: 640 });
  await page.addInitScript(() => localStorage.setItem('language', 'en'));
  const { problems } = await hub.api('problems');
  const ws = encodeURIComponent(problems.find(({ refs }: { refs: { ws?: string } }) => refs.ws).refs.ws);
  for (const [name, path, shown] of [
    ['now', '', 'main a[data-row]'],
    ['flow', `flow/${ws}`, 'main svg'],
    ['log', 'log?scope=all', 'main [role="list"], main [role="log"], main table'],
    ['time', 'time', 'main input[type="range"], main [role="slider"]'],
  ] as const) {
    await visit(page, hub.url(path));
    await expect(page.locator(shown).first()).toBeVisible();
    await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
  }
});
