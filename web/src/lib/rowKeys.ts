import { claimKeys, isModified } from './keys';

/**
 * Keys for a list whose rows contain one focusable element marked `data-row`: j and k (or the arrows inside the list) move the focus, Home and End
 * go to the ends, o opens and Shift-Enter opens a new tab. Enter is the link's own. `<ul {@attach rowKeys()}>`
 */
export function rowKeys() {
  return (element: HTMLElement) => {
    const rows = () => [...element.querySelectorAll<HTMLElement>('[data-row]')];
    const index = (all: HTMLElement[]) =>
      all.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
    const move = (step: number) => {
      const all = rows();
      const at = index(all);
      const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + step));
      all[next]?.focus();
      all[next]?.scrollIntoView({ block: 'nearest' });
    };
    const current = () => rows()[index(rows())];
    const open = (newTab: boolean) => {
      const link = current();
      if (!link) return;
      if (newTab && link instanceof HTMLAnchorElement) window.open(link.href, '_blank', 'noopener');
      else link.click();
    };
    const inside = (event: KeyboardEvent) => {
      const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined || event.defaultPrevented || isModified(event) || index(rows()) < 0) return;
      event.preventDefault();
      move(step);
    };
    element.addEventListener('keydown', inside);
    const leave = claimKeys({
      j: () => move(1),
      k: () => move(-1),
      o: () => open(false),
      'Shift-Enter': () => open(true),
    });
    return () => {
      leave();
      element.removeEventListener('keydown', inside);
    };
  };
}
