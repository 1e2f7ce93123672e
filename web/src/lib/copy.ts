import { t } from './i18n/index.svelte';
import { toasts } from './toasts.svelte';
import { w } from './ui/words';

/** Copies a text to the clipboard, and says so. It works without TLS too, where browsers have no navigator.clipboard. */
export async function copy(text: string, done: string = t(w.copied)): Promise<void> {
  const copied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (copied || copySelected(text)) toasts.say(done);
  else toasts.say(t(w.cannotCopy), 'error');
}

/** Copies by a selection, the way that every browser has. The field is where the focus is: a dialog keeps the focus inside. */
function copySelected(text: string): boolean {
  const before = document.activeElement as HTMLElement | null;
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'visually-hidden';
  // What a selection of the field gives depends on its style.
  const put = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
  };
  field.addEventListener('copy', put);
  (before?.closest('[role="dialog"]') ?? document.body).append(field);
  field.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  } finally {
    field.remove();
    before?.focus({ preventScroll: true });
  }
}
