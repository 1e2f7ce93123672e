import { agents } from '../agents.svelte';
import { router } from '../router.svelte';

/** The agent that people speak to where no other is meant. */
export const mainAgent = (): string =>
  agents.list.find(({ kind }) => kind === 'main')?.id ?? agents.list[0]?.id ?? 'main';

/** Opens the chat with the agent in view: of the row that has the focus, else of the first link to a chat, else the main agent. */
export function messageInView(): void {
  const row = document.activeElement?.closest<HTMLElement>('[data-id], li');
  const link =
    row?.querySelector<HTMLAnchorElement>('a.tell') ?? document.querySelector<HTMLAnchorElement>('main a.tell');
  if (row?.dataset.id) router.open(['chat', row.dataset.id]);
  else if (link) router.openUrl(link.href);
  else router.open(['chat', mainAgent()]);
}
