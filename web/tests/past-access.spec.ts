import { violations } from './stage/axe.ts';
import { expect, test, visit } from './stage/test.ts';

for (const path of ['time?at=300&b=420', 'time/diff?a=300&b=420', 'time/diff?a=300&b=420&raw=1', '?as_of=300']) {
  test(`T-AXE ${path} in both themes, and on a phone without scrolling sideways`, async ({ page, hub }) => {
    test.setTimeout(120_000);
    await visit(page, hub.url(path));
    if (path.startsWith('time?')) {
      await page.getByRole('button', { name: '이 이벤트가 바꾼 것 보기' }).click();
      await expect(page.locator('main .step')).toBeVisible();
    }
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      expect(await violations(page), scheme).toEqual([]);
    }
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 640 });
      const wide = await page.evaluate(() => {
        const main = document.querySelector('main')!;
        return [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth];
      });
      expect(wide, `${width} px`).toEqual([0, 0]);
    }
    expect(await violations(page), 'phone').toEqual([]);
  });
}

test('T-AXE the field for a point in time', async ({ page, hub }) => {
  await visit(page, hub.url('agents'));
  await page.keyboard.press('t');
  const field = page.getByRole('textbox', { name: /시각/ });
  await expect(field).toBeFocused();
  await page.keyboard.type('언젠가');
  await expect(page.getByRole('dialog')).toContainText('시점으로 읽을 수 없습니다');
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
});
