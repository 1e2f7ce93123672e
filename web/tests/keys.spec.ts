import { expect, shown, test, visit, type Page } from './stage/test.ts';

/** Path of the page that is shown, below the root. */
const place = (page: Page) => decodeURIComponent(new URL(page.url()).pathname.replace(/^\/ui\//, ''));

const letters = {
  c: 'c',
  t: 'tasks',
  a: 'agents',
  i: 'inbox',
  o: 'owed',
  l: 'log',
  m: 'time',
  w: 'why',
  s: 'sql',
  d: 'schedules',
  u: 'tools',
};

test('T-KEYS g and a letter open each page', async ({ page, hub }) => {
  await visit(page, hub.url());
  for (const [letter, path] of Object.entries({ ...letters, h: 'health', ',': 'settings', n: '' })) {
    await page.keyboard.press('g');
    await page.keyboard.press(letter);
    await expect.poll(() => place(page), { message: `g ${letter}` }).toBe(path);
    await shown(page);
  }
});

test('T-KEYS from Now to the flow of a conversation and its table, and back up, without a pointer', async ({
  page,
  hub,
}) => {
  await visit(page, hub.url());
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  const rows = page.locator('main a[data-row]');
  await expect(rows.first()).toBeVisible();
  await page.keyboard.press('j');
  await expect(page.locator('main a[data-row]:focus')).toHaveCount(1);
  const first = await page.locator(':focus').getAttribute('href');
  await page.keyboard.press('j');
  await expect(page.locator(':focus')).not.toHaveAttribute('href', first!);
  await page.keyboard.press('k');
  await expect(page.locator(':focus')).toHaveAttribute('href', first!);
  await page.keyboard.press('Enter');
  await expect.poll(() => place(page)).toMatch(/^c\/./);
  await shown(page);
  const conversation = place(page);

  await page.keyboard.press('d');
  await expect(page).toHaveURL(/[?&]process=1/);
  await page.keyboard.press('d');
  await expect(page).not.toHaveURL(/process=1/);
  await page.keyboard.press('f');
  await expect.poll(() => place(page)).toMatch(/^flow\/./);
  await shown(page);
  await page.keyboard.press('Shift+V');
  await expect(page.getByRole('table')).toBeVisible();
  await expect(page.getByRole('table').getByRole('row').nth(1)).toBeVisible();
  await page.keyboard.press('Shift+V');
  await expect(page.getByRole('table')).toHaveCount(0);
  await page.goBack();
  await expect.poll(() => place(page)).toMatch(new RegExp(`^(flow/|${conversation.split('/', 2).join('/')})`));

  await visit(page, hub.url('agents/eden'));
  await page.keyboard.press('Escape');
  await expect.poll(() => place(page)).toBe('agents');
});

test('T-KEYS search, help, palette and the past have their keys', async ({ page, hub }) => {
  await visit(page, hub.url('tasks'));
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toContainText('Ctrl K');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('dialog').getByRole('combobox')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.keyboard.press('t');
  await page.getByRole('textbox', { name: /시각/ }).fill('seq 300');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/as_of=300/);
  await shown(page);
  await page.keyboard.press('Shift+T');
  await expect(page).not.toHaveURL(/as_of/);
  await page.keyboard.press('/');
  await expect.poll(() => place(page)).toBe('search');
  await expect(page.getByRole('searchbox')).toBeFocused();
});

test('T-KEYS the palette has the actions of what is open, behind the search', async ({ page, hub }) => {
  const { sessions } = await hub.api('work-sessions?limit=1');
  const session = encodeURIComponent(sessions[0].workSessionId);
  await visit(page, hub.url(`c/${session}`));
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog');
  await palette.getByRole('combobox').fill('흐름');
  await expect(palette.getByRole('option').first()).toContainText('“흐름” 검색');
  await palette.getByRole('option', { name: /흐름 열기/ }).click();
  await expect.poll(() => place(page)).toBe(`flow/${session}`);

  // Another page has other actions.
  await visit(page, hub.url('settings'));
  await page.keyboard.press('Control+k');
  await palette.getByRole('combobox').fill('흐름');
  await expect(palette.getByRole('option', { name: /“흐름” 검색/ })).toBeVisible();
  await expect(palette.getByRole('option', { name: /흐름 열기/ })).toHaveCount(0);
});

test('T-KEYS are off in a field, with a modifier and by the setting, and do not depend on the layout', async ({
  page,
  hub,
}) => {
  await visit(page, hub.url('search'));
  await page.getByRole('searchbox').focus();
  await page.keyboard.type('ga');
  await expect(page.getByRole('searchbox')).toHaveValue('ga');
  expect(place(page)).toBe('search');

  await visit(page, hub.url());
  // A Korean layout writes ㅎ and ㅁ where g and a are.
  const press = (code: string, key: string, more: { altKey?: boolean; isComposing?: boolean } = {}) =>
    page.evaluate(
      (init: { code: string; key: string; altKey?: boolean; isComposing?: boolean }) => {
        document.body.dispatchEvent(new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true }));
      },
      { code, key, ...more },
    );
  await press('KeyG', 'g', { altKey: true });
  await press('KeyA', 'a', { altKey: true });
  expect(place(page)).toBe('');
  await press('KeyG', 'ㅎ', { isComposing: true });
  await press('KeyA', 'ㅁ', { isComposing: true });
  expect(place(page)).toBe('');
  await press('KeyG', 'ㅎ');
  await press('KeyA', 'ㅁ');
  await expect.poll(() => place(page)).toBe('agents');

  await page.evaluate(() => localStorage.setItem('keys', 'off'));
  await visit(page, hub.url());
  await press('KeyG', 'g');
  await press('KeyA', 'a');
  await page.keyboard.press('?');
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('dialog')).toHaveCount(1);
  await expect(page.getByRole('dialog').getByRole('combobox')).toBeFocused();
  expect(place(page)).toBe('');
});

test('T-KEYS the help names every key, and w opens why', async ({ page, hub }) => {
  await visit(page, hub.url('agents'));
  await page.keyboard.press('?');
  const keys = await page.getByRole('dialog').locator('kbd').allInnerTexts();
  const single = ['/', '?', 'Esc', '[', ']', '{', '}', 'Enter', 'o', 'Home', 'End', '↓', '↑', 'Space', '+', '-', '0'];
  const letters = [...'adefgijklmrtuwxy', 'Ctrl K', 'Shift Enter', 'Shift T', 'Shift V', 'Shift Y'];
  expect([...single, ...letters].filter((key) => !keys.includes(key))).toEqual([]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('w');
  await expect.poll(() => place(page)).toBe('why');
});
