const key = 'seen';
const capacity = 500;

function all(): [string, number][] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(kept) ? (kept as [string, number][]) : [];
  } catch {
    return [];
  }
}

/** Seq up to which this browser has shown a thread; null if never. */
export const seenOf = (thread: string): number | null => all().find(([name]) => name === thread)?.[1] ?? null;

/** Notes that a thread was shown up to a seq. The threads that were opened last are kept. */
export function see(thread: string, seq: number): void {
  const before = seenOf(thread) ?? 0;
  if (seq <= before) return;
  const others = all().filter(([name]) => name !== thread);
  localStorage.setItem(key, JSON.stringify([[thread, seq], ...others].slice(0, capacity)));
}

/** Seq of the event at which a thread was left in this tab; null at its end. */
export function placeOf(thread: string): number | null {
  const kept = Number(sessionStorage.getItem(`place ${thread}`) ?? 0);
  return kept > 0 ? kept : null;
}

/** Notes the event at which a thread stands; null is its end. */
export const keepPlace = (thread: string, seq: number | null): void =>
  sessionStorage.setItem(`place ${thread}`, String(seq ?? 0));
