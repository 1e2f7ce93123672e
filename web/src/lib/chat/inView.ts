import { agents } from '../agents.svelte';
import { router } from '../router.svelte';

/** The agent that people speak to where no other is meant. */
export const mainAgent = (): string =>
  agents.list.find(({ kind }) => kind === 'main')?.id ?? agents.list[0]?.id ?? 'main';

let wanted: { quote: string } | null = null;

/** What the chat that opens was asked for with, by its key or its link, to write at once; null if it was not. It is asked once. */
export function takeWanted(): { quote: string } | null {
  const now = wanted;
  wanted = null;
  return now;
}

/** Opens the chat with an agent, ready to write. What is quoted stands in the field and can be changed; nothing is sent. */
export function openChat(agentId: string, quote = ''): void {
  wanted = { quote };
  router.open(['chat', agentId]);
}

/** Opens the chat with the agent in view: of the row that has the focus, else of the first link to a chat, else the main agent. */
export function messageInView(): void {
  const row = document.activeElement?.closest<HTMLElement>('[data-id], li');
  const own = row?.querySelector<HTMLAnchorElement>('a.tell');
  // A link knows what to quote.
  if (own) own.click();
  else if (row?.dataset.id) openChat(row.dataset.id);
  else {
    const link = document.querySelector<HTMLAnchorElement>('main a.tell');
    if (link) link.click();
    else openChat(mainAgent());
  }
}
