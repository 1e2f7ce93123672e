import { join } from 'node:path';
import { violations } from './stage/axe.ts';
import { bubbles, say, withGateway, writeTeam } from './stage/chat.ts';
import { Hands, type Device } from './stage/hands.ts';
import type { Options, Server } from './stage/server.ts';
import { expect, shown, test, visit, type Page } from './stage/test.ts';

type Language = 'ko' | 'en';

const says = {
  ko: {
    approve: '승인',
    answer: /^답하기: /,
    give: '승인하고 다시 호출',
    reject: '거절',
    reason: '거절하는 이유',
    invalid: '값이 올바르지 않습니다.',
    again: '승인하면 같은 인자로 호출을 다시 합니다.',
    yes: '예',
    approved: /승인됨/,
    rejected: /거절됨/,
  },
  en: {
    approve: 'Approve',
    answer: /^Answer: /,
    give: 'Approve, and call again',
    reject: 'Reject',
    reason: 'Reason',
    invalid: 'A value is not valid.',
    again: 'If you approve, the call will be made again with the same arguments.',
    yes: 'Yes',
    approved: /Approved by/,
    rejected: /Rejected by/,
  },
};

/** Has an agent call a tool of an MCP server that asks for input, and opens the request for it. */
async function asked(
  page: Page,
  serve: (options?: Options) => Promise<Server>,
  folder: string,
  language: Language,
  device: Device,
) {
  await writeTeam(folder, [], {
    rules: [
      { when: { after: 'tool' }, answer: { text: '{{result}}' } },
      {
        when: { contains: ['예약'] },
        answer: { text: '예약합니다.', toolCalls: [{ name: 'desk__book', arguments: {} }] },
      },
    ],
    settings: {
      mcp: {
        servers: { desk: { command: process.execPath, args: [join(import.meta.dirname, 'stage/desk.js')] } },
      },
    },
  });
  const server = await serve({ home: folder, args: withGateway });
  await page.addInitScript((language) => localStorage.setItem('language', language), language);
  await Hands.at(page, device);
  await visit(page, server.url('chat/eden'));
  await say(page, '예약해 줘');
  await expect.poll(async () => (await server.api('approvals')).total, { timeout: 30_000 }).toBe(1);
  const { approvals } = await server.api('approvals');
  await visit(page, server.url(`inbox/${encodeURIComponent(approvals[0].id)}`));
  const item = page.locator('[data-item]');
  await expect(item.getByText('누가 여행하나요?').first()).toBeVisible();
  return { server, item, said: says[language] };
}

/** Opens the chat and waits for what the agent says at last. */
async function hears(page: Page, server: Server, text: string | RegExp) {
  await visit(page, server.url('chat/eden'));
  await expect.poll(async () => (await bubbles(page)).at(-1), { timeout: 30_000 }).toMatch(text);
}

for (const [language, device] of [
  ['ko', 'laptop'],
  ['en', 'phone'],
] as const) {
  test(`T-INPUT what an MCP server asks for is filled in, and a wrong value told at its field (${language}, ${device})`, async ({
    page,
    serve,
    folder,
    faults,
  }) => {
    faults.allow(/status of 400/);
    const { server, item, said } = await asked(page, serve, folder, language, device);
    await item.getByRole('button', { name: said.approve, exact: true }).click();
    const form = page.getByRole('dialog', { name: said.answer });
    await expect(form).toContainText(said.again);
    const [email, seats] = [form.getByLabel('메일 주소 *'), form.getByLabel('자리')];
    await expect(form.getByLabel('meal')).toHaveValue('salad');
    expect(await violations(page)).toEqual([]);
    const { x, width } = (await form.boundingBox())!;
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(page.viewportSize()!.width);

    // The browser says at the field what it can know: that it is required, and that this is no address and that no number.
    const refusedHere = () =>
      form.locator('.field:invalid').evaluateAll((all) => all.map(({ labels }: any) => labels[0].textContent));
    await form.getByRole('button', { name: said.give }).click();
    expect(await refusedHere()).toEqual(['메일 주소 *']);
    await email.fill('no address');
    await seats.fill('many');
    await form.getByRole('button', { name: said.give }).click();
    expect(await refusedHere()).toEqual(['메일 주소 *', '자리']);
    await expect(form).toBeVisible();

    // The rest is told by the server, and what was filled in stays.
    await email.fill('a@b.example');
    await seats.fill('12');
    await form.getByLabel('창가').selectOption({ label: said.yes });
    await form.getByRole('button', { name: said.give }).click();
    await expect(form).toHaveCount(0);
    await expect(seats).toBeFocused({ timeout: 15_000 });
    await expect(seats).toHaveAttribute('aria-invalid', 'true');
    await expect(seats).toHaveAccessibleDescription(`${said.invalid} give at most 9`);
    await expect(email).toHaveValue('a@b.example');
    await expect(email).not.toHaveAttribute('aria-invalid');
    expect(await violations(page)).toEqual([]);
    expect((await server.api('approvals')).total).toBe(1);

    await seats.fill('2');
    await form.getByRole('button', { name: said.give }).click();
    await expect(item.getByText(said.approved).first()).toBeVisible({ timeout: 15_000 });
    await hears(page, server, 'booked for {"email":"a@b.example","meal":"salad","seats":2,"window":true}');
    expect((await server.api('approvals')).total).toBe(0);
  });
}

for (const [language, device] of [
  ['ko', 'phone'],
  ['en', 'laptop'],
] as const) {
  test(`T-INPUT a refusal reaches the agent, and the call is not made again (${language}, ${device})`, async ({
    page,
    serve,
    folder,
  }) => {
    const { server, item, said } = await asked(page, serve, folder, language, device);
    // A form that is closed sends nothing.
    await item.getByRole('button', { name: said.approve, exact: true }).click();
    await expect(page.getByRole('dialog', { name: said.answer })).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await item.getByRole('button', { name: said.reject, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(said.reason).fill('기차로 가지 마세요');
    await dialog.getByRole('button', { name: said.reject }).click();
    await expect(item.getByText(said.rejected).first()).toBeVisible({ timeout: 15_000 });
    await shown(page);
    await hears(page, server, /^<not booked[^]*기차로 가지 마세요/);
    const calls = (await server.api('events?scope=all&type=tool.called&limit=200')).events;
    expect(calls).toHaveLength(1);
  });
}
