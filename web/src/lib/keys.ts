/**
 * Keys: off while a text field has the focus, a modifier is held or an IME composes. A name is a key as in KeyboardEvent.key, or two keys in a
 * row as `g n`. The last component that claims a key has it.
 */
type Claim = { keys: Record<string, (event: KeyboardEvent) => void> };

const claims: Claim[] = [];
const secondKeyMs = 1200;
let first: { key: string; at: number } | null = null;

/** Single-key shortcuts can be turned off (WCAG 2.1.4); Ctrl-K and Escape stay. */
export const singleKeys = {
  get on(): boolean {
    return localStorage.getItem('keys') !== 'off';
  },
  set on(value: boolean) {
    localStorage.setItem('keys', value ? 'on' : 'off');
  },
};

/** Claims keys until the returned function is called: `$effect(() => claimKeys({ j: next, k: previous }))`. */
export function claimKeys(keys: Claim['keys']): () => void {
  const claim = { keys };
  claims.push(claim);
  return () => void claims.splice(claims.indexOf(claim), 1);
}

/** What a key does now, for those who choose it by name; null if it does nothing. */
export function claimed(name: string): (() => void) | null {
  const claim = claims.findLast(({ keys }) => name in keys);
  return claim ? () => claim.keys[name]!(new KeyboardEvent('keydown', { key: name })) : null;
}

/** Whether a key belongs to the browser or the system: Alt-Left is Back. */
export const isModified = (event: KeyboardEvent): boolean =>
  event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return (
    target instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'submit', 'range'].includes(target.type)
  );
}

/** Handles a keydown of the document. */
export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
    run('Ctrl-K', event);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  // A dialog has its own keys.
  if (isTyping(event.target) || (event.target instanceof Element && event.target.closest('[role="dialog"]'))) return;
  if (event.key === 'Escape') {
    run('Escape', event);
    return;
  }
  if (!singleKeys.on) return;
  // A letter is the key it is on, whatever the keyboard writes: with a Korean layout j writes ㅓ.
  const letter = /^Key([A-Z])$/.exec(event.code)?.[1];
  const key = letter
    ? event.shiftKey
      ? `Shift-${letter}`
      : letter.toLowerCase()
    : event.key === 'Enter' && event.shiftKey
      ? 'Shift-Enter'
      : event.key;
  const sequence = first && event.timeStamp - first.at < secondKeyMs ? `${first.key} ${key}` : null;
  first = null;
  if (sequence && run(sequence, event)) return;
  if (claims.some(({ keys }) => Object.keys(keys).some((name) => name.startsWith(`${key} `)))) {
    first = { key, at: event.timeStamp };
    return;
  }
  run(key, event);
}

function run(name: string, event: KeyboardEvent): boolean {
  const claim = claims.findLast(({ keys }) => name in keys);
  if (!claim) return false;
  event.preventDefault();
  claim.keys[name]!(event);
  return true;
}
