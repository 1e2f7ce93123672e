/** Work that waits until the browser has nothing more urgent, in small portions. */
const waiting = new Set<() => void>();
let asked = false;
/** Longest portion within one frame. */
const portionMs = 8;

const later: (run: () => void) => void =
  typeof requestIdleCallback === 'function'
    ? (run) => void requestIdleCallback(run, { timeout: 1000 })
    : (run) => void setTimeout(run, 30);

function work(): void {
  const end = performance.now() + portionMs;
  for (const run of waiting) {
    waiting.delete(run);
    run();
    if (performance.now() > end) break;
  }
  asked = false;
  ask();
}

function ask(): void {
  if (asked || waiting.size === 0) return;
  asked = true;
  later(work);
}

/** Runs it when there is time; the returned function takes it back. */
export function whenIdle(run: () => void): () => void {
  waiting.add(run);
  ask();
  return () => void waiting.delete(run);
}
