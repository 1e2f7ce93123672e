/**
 * The page that says why agents answered in a channel or did not: of the message that the row with the focus is about, else of the first one that
 * the page names, else of all messages. What is about a message carries its id as `data-message`.
 */
export function whyInView(): string[] {
  const row = document.activeElement?.closest<HTMLElement>('[data-message]');
  const named = row ?? document.querySelector<HTMLElement>('main [data-message]');
  const id = named?.dataset.message;
  return id ? ['why', id] : ['why'];
}
