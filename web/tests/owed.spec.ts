import { test } from './stage/team.ts';
import { expect, visit } from './stage/test.ts';

test('T-KLM 3 who owes an answer: one shortcut, and one tap on a phone', async ({ page, working }) => {
  const team = await working();
  void team
    .call('eden', 'sessions_send', { agentId: 'seum', message: '배포 상태를 알려줘', timeoutSeconds: 0 })
    .catch(() => {});
  await expect.poll(async () => (await team.server.api('owed')).total).toBe(1);
  await page.setViewportSize({ width: 1440, height: 900 });
  await visit(page, team.server.url());
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  const row = page.locator('main .row').first();
  await expect(row).toBeInViewport();
  for (const text of ['세움', '이든', '배포 상태를 알려줘', '답을 기다림', '전달됨'])
    await expect(row).toContainText(text);
  await page.setViewportSize({ width: 390, height: 844 });
  await visit(page, team.server.url());
  await page.getByRole('link', { name: '답장 대기' }).last().click();
  await expect(row).toBeInViewport();
  await expect(row).toContainText('배포 상태를 알려줘');
});

test('T-OWED delivery and answer are apart, filters are in the URL, and a delivery is stopped after a confirmation', async ({
  page,
  working,
}) => {
  const team = await working();
  for (const [from, to] of [
    ['eden', 'seum'],
    ['ruda', 'eden'],
  ] as const)
    void team
      .call(from, 'sessions_send', { agentId: to, message: `${from}의 부탁`, timeoutSeconds: 0 })
      .catch(() => {});
  await expect.poll(async () => (await team.server.api('owed')).total).toBe(2);
  await visit(page, team.server.url('owed'));
  const rows = page.locator('main .row');
  await expect(rows).toHaveCount(2);
  const { owed } = await team.server.api('owed');
  await expect(rows.first()).toContainText(owed[0].text);
  await expect(page.getByRole('columnheader', { name: '전달', exact: true })).toBeVisible();
  await expect(page.getByRole('columnheader', { name: '답', exact: true })).toBeVisible();

  await page.getByLabel('답할 쪽').selectOption('eden');
  await expect(page).toHaveURL(/to=eden/);
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText('ruda의 부탁');
  await page.getByLabel('종류').selectOption('request');
  await expect(page).toHaveURL(/kind=request/);
  await expect(page.locator('main')).toContainText('이 조건에 맞는 것이 없습니다');
  await visit(page, team.server.url('owed?to=eden&x=1'));
  await expect(page.getByLabel('답할 쪽')).toHaveValue('eden');

  await rows.getByRole('link', { name: '대화' }).click();
  await expect(page).toHaveURL(/\/ui\/c\//);
  await page.goBack();
  // Who owes the answer can be asked again, also by the key.
  await rows.getByRole('link', { name: '이든에게 말하기' }).click();
  await expect(page).toHaveURL(/\/ui\/chat\/eden$/);
  await page.goBack();
  await expect(rows).toHaveCount(1);
  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('m');
  await expect(page).toHaveURL(/\/ui\/chat\/eden$/);
  await page.goBack();
  await rows.getByRole('button', { name: '전달 멈추기' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('하위 에이전트에게 맡긴 것이 없습니다.');
  expect((await team.server.api('owed')).total).toBe(2);
  await dialog.getByRole('button', { name: '전달 멈추기' }).click();
  await expect(rows).toHaveCount(0);
  expect((await team.server.api('owed')).total).toBe(1);
  await visit(page, team.server.url('owed?open=false'));
  await expect(rows.filter({ hasText: 'ruda의 부탁' })).toContainText('끝남');

  // In the past nothing can be stopped.
  const seq = owed[0].refs.seq;
  await visit(page, team.server.url(`owed?as_of=${seq + 3}`));
  await expect(rows.first().getByRole('button', { name: '전달 멈추기' })).toBeDisabled();
});
