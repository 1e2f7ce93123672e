import { agents } from '../agents.svelte';
import { router } from '../router.svelte';

/** The agent that people speak to where no other is meant. */
export const mainAgent = (): string =>
  agents.list.find(({ kind }) => kind === 'main')?.id ?? agents.list[0]?.id ?? 'main';

let wanted = false;

/** Whether the chat that opens was asked for by its key or its link, to write at once. It is asked once. */
export function takeWanted(): boolean {
  const now = wanted;
  wanted = false;
  return now;
}

/** Opens the chat with an agent, ready to write. */
export function openChat(agentId: string): void {
  wanted = true;
  router.open(['chat', agentId]);
}

/** Opens the chat with the agent in view: of the row that has the focus, else of the first link to a chat, else the main agent. */
export function messageInView(): void {
  const row = document.activeElement?.closest<HTMLElement>('[data-id], li');
  const link =
    row?.querySelector<HTMLAnchorElement>('a.tell') ?? document.querySelector<HTMLAnchorElement>('main a.tell');
  openChat(row?.dataset.id ?? link?.dataset.agent ?? mainAgent());
}
