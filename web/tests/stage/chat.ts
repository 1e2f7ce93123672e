import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, type Page } from '@playwright/test';
import { textOf, type Line } from './server.ts';

/** What the agents of a chat say: the first rule that fits the last message answers. */
const rules = [
  {
    when: { contains: ['천천히'] },
    answer: {
      text: Array.from({ length: 60 }, (_, index) => `조각${index}`).join(' ') + ' 끝.',
      chunk: 6,
      delay: '80ms',
    },
  },
  {
    when: { contains: ['목록'], offers: 'agents_list' },
    answer: { text: '찾아보겠습니다.', toolCalls: [{ name: 'agents_list', arguments: {} }] },
  },
  { when: { after: 'tool' }, answer: { text: '에이전트를 모두 찾았습니다.' } },
  { when: { contains: ['고장'] }, answer: { fault: { class: 'auth', message: 'no key' } } },
  { when: { matches: '센다 (\\d+)' }, answer: { text: '{{1}}번을 받았습니다.' } },
  { answer: { text: '받았습니다: **{{message}}**' } },
];

/** Writes the state directory of a team that answers by a script, to which rules and settings may be added, and can be talked to. */
export async function writeTeam(
  dir: string,
  lines: Line[] = [],
  more: { rules?: object[]; settings?: Record<string, unknown> } = {},
) {
  const list = [
    { id: 'eden', name: '이든' },
    { id: 'ieum', name: '이음' },
  ].map((agent) => ({ ...agent, workspace: join(dir, `workspace-${agent.id}`) }));
  for (const { workspace } of list) await mkdir(workspace, { recursive: true });
  await mkdir(join(dir, 'logs'), { recursive: true });
  await writeFile(join(dir, 'logs/coordination-events.ndjson'), textOf(lines));
  await writeFile(join(dir, 'script.json'), JSON.stringify({ rules: [...(more.rules ?? []), ...rules] }));
  await writeFile(
    join(dir, 'openclaw.json'),
    JSON.stringify({
      models: { scripted: { script: 'script.json' } },
      agents: { defaults: { model: 'scripted/echo', taskContinuation: { enabled: false } }, list },
      ...more.settings,
    }),
  );
}

/** What the two have said to each other. */
export const pairConversation: Line[] = [
  ['eden', 'ieum', '배포를 어떻게 할까요?'],
  ['ieum', 'eden', '한 번에 다 올리겠습니다.'],
].map(([from, to, message], index) => ({
  type: index === 0 ? 'a2a.send' : 'a2a.response',
  agentId: from!,
  ts: Date.now() - 60_000 + index * 1000,
  data: {
    fromAgent: from,
    toAgent: to,
    targetSessionKey: `agent:${to}:main`,
    message,
    runId: `run-${index}`,
    conversationId: 'talk-1',
    workSessionId: 'ws_talk',
    eventRole: 'conversation.main',
    fromSessionType: 'main',
    toSessionType: 'main',
  },
}));

/** Arguments of a server with a gateway. */
export const withGateway = ['--gateway', '127.0.0.1:0'];

/** The bubbles of a chat as short texts: who and what, without times. */
export async function bubbles(page: Page): Promise<string[]> {
  return await page.locator('article.bubble').evaluateAll((all) =>
    all.map((bubble) => {
      const who = bubble.classList.contains('own') ? '>' : '<';
      return who + [...bubble.querySelectorAll('.text')].map((text) => text.textContent!.trim()).join('|');
    }),
  );
}

/** The field for a message. */
export const composer = (page: Page) => page.locator('form.composer textarea');

/** Writes a message and sends it with Enter. */
export async function say(page: Page, text: string) {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

/** Waits until the chat shows these bubbles, each once and in order, and nothing is under way. */
export async function expectBubbles(page: Page, wanted: string[], timeout = 20_000) {
  await expect.poll(() => bubbles(page), { timeout }).toEqual(wanted);
  await expect(page.locator('article.bubble .state')).toHaveCount(0);
}
