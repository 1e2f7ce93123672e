import type { Page } from '@playwright/test';
import type { Line } from './server.ts';

/** Finds the object of the page's connection among the exports of the page's script, as window.__live, so that the page needs nothing for it. */
export async function findLive(page: Page) {
  await page.evaluate(async () => {
    const script = document.querySelector<HTMLScriptElement>('script[type=module]')!.src;
    const live = Object.values(await import(script)).find(
      (value: any) => value !== null && typeof value === 'object' && typeof value.onEvents === 'function',
    );
    if (!live) throw new Error('the page exports no object with onEvents');
    (window as any).__live = live;
  });
}

/** Records the events that the page hands to its parts, in window.__events as seqs, and its state in window.__live. */
export async function recordEvents(page: Page) {
  await findLive(page);
  await page.evaluate(() => {
    const all = window as any;
    all.__events = [];
    all.__live.onEvents((events: { seq: number }[]) => all.__events.push(...events.map(({ seq }) => seq)));
  });
}

export const recorded = (page: Page): Promise<number[]> => page.evaluate(() => (window as any).__events);

export const liveState = (page: Page): Promise<{ state: string; seq: number; reconnects: number }> =>
  page.evaluate(() => {
    const { state, seq, reconnects } = (window as any).__live;
    return { state, seq, reconnects };
  });

/** Lines of a conversation of two agents, numbered from `first` on. */
export function conversation(first: number, count: number, { session = 'ws_flood', conversationId = 'flood' } = {}) {
  return Array.from({ length: count }, (_, index): Line => {
    const number = first + index;
    const [from, to] = number % 2 === 0 ? ['eden', 'seum'] : ['seum', 'eden'];
    return {
      type: number % 2 === 0 ? 'a2a.send' : 'a2a.response',
      agentId: from,
      ts: Date.parse('2026-11-23T01:00:00Z') + number * 10,
      data: {
        fromAgent: from,
        toAgent: to,
        message: `메시지 ${number}`,
        runId: `run-${number}`,
        conversationId,
        workSessionId: session,
        eventRole: 'conversation.main',
        fromSessionType: 'main',
        toSessionType: 'main',
      },
    };
  });
}

export const pair = [
  { id: 'eden', name: '이든' },
  { id: 'seum', name: '세움' },
];
