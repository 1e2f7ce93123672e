import { composer } from './stage/chat.ts';
import { test } from './stage/team.ts';
import { expect, visit } from './stage/test.ts';

test('T-CHAT to talk about a problem quotes it, can be changed, and sends nothing', async ({ page, working }) => {
  const team = await working();
  const id = await team.blocked('정산 배치');
  await expect.poll(async () => (await team.server.api('problems')).counts.task_blocked).toBe(1);
  const before = (await team.eventTypes('run.queued')).length;
  const quoted = /^> 정산 배치 · 작업 막힘\n> API 키 대기\n> \d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+9부터\n\n$/;
  const talk = page.getByRole('link', { name: '루다에게 말하기' }).first();

  await visit(page, team.server.url());
  await talk.click();
  await expect(page).toHaveURL(/chat\/ruda$/);
  await expect(composer(page)).toHaveValue(quoted);
  await expect(composer(page)).toBeFocused();
  // What is written comes below, and is not quoted again from elsewhere.
  await page.keyboard.type('키를 보냈어요');
  const written = await composer(page).inputValue();
  expect(written.endsWith('부터\n\n키를 보냈어요')).toBe(true);
  for (const path of [`tasks/${id}`, 'agents/ruda']) {
    const problems = page.waitForResponse((response) => /problems\?.*limit=500/.test(response.url()));
    await visit(page, team.server.url(path));
    await problems;
    await talk.click();
    await expect(composer(page)).toHaveValue(written);
  }
  await composer(page).fill('');
  await visit(page, team.server.url());
  await page.locator('main a[data-row]', { hasText: '정산 배치' }).focus();
  await page.keyboard.press('m');
  await expect(composer(page)).toHaveValue(quoted);
  expect((await team.eventTypes('run.queued')).length).toBe(before);
  // A chat that is opened otherwise quotes nothing.
  await composer(page).fill('');
  await visit(page, team.server.url('chat/ruda'));
  await expect(composer(page)).toHaveValue('');
});
