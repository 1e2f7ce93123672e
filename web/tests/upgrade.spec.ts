import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { binary, copySample } from './stage/server.ts';
import { expect, shown, test, visit } from './stage/test.ts';

/** A copy of the binary that contains another version of the page: one byte of a file that is only hashed is different. */
async function otherBinary(folder: string): Promise<string> {
  const program = await readFile(binary);
  const built = await readFile(join(import.meta.dirname, '../dist/SOURCES.sha256'));
  let changed = 0;
  for (let at = program.indexOf(built); at >= 0; at = program.indexOf(built, at + 1)) {
    program[at] = program[at] === 0x30 ? 0x31 : 0x30;
    changed++;
  }
  expect(changed).toBeGreaterThan(0);
  const copy = join(folder, 'openclawd-other');
  await writeFile(copy, program, { mode: 0o755 });
  return copy;
}

test('T-UPGRADE an old tab says that there is a new version, stays usable, and loads it', async ({
  page,
  serve,
  folder,
  faults,
}) => {
  faults.allow(/WebSocket connection to .* failed/, /Failed to load resource/, /Refused to apply style/);
  const home = join(folder, 'home');
  await copySample(home);
  const old = await serve({ home, args: ['--follow'] });
  await visit(page, old.url());
  await expect(page.getByRole('button', { name: /실시간/ })).toBeVisible();
  const before = await page.locator('script[type=module]').getAttribute('src');
  const bar = page.getByRole('status').filter({ hasText: '새 버전' });
  await expect(bar).toHaveCount(0);
  await old.stop();
  await serve({ home, args: ['--follow'], port: old.port, binary: await otherBinary(folder) });
  await expect(page.getByRole('button', { name: /실시간/ })).toBeVisible({ timeout: 30_000 });

  // A page whose code this tab has not loaded is not there any more: the tab says so instead of staying empty.
  await page.getByRole('link', { name: '에이전트', exact: true }).first().click();
  await expect(page.locator('main')).toContainText('화면을 불러오지 못했습니다');
  // A page that is loaded stays usable, however it is come to.
  await page.goBack();
  await expect(page.getByRole('heading', { level: 1, name: '지금' })).toBeVisible();
  await expect(page.locator('main')).not.toContainText('화면을 불러오지 못했습니다');
  await shown(page);
  await page.getByRole('link', { name: '에이전트', exact: true }).first().click();
  await expect(page.locator('main')).toContainText('화면을 불러오지 못했습니다');
  await expect(bar).toBeVisible({ timeout: 30_000 });
  await bar.getByRole('button', { name: '새로 고침' }).click();
  await shown(page);
  await expect(page).toHaveURL(/\/ui\/agents$/);
  await expect(bar).toHaveCount(0);
  await expect(page.getByRole('heading', { level: 1, name: '에이전트' })).toBeVisible();
  expect(await page.locator('script[type=module]').getAttribute('src')).not.toBe(before);
});
