/** Shortest time between two drawings of what keeps coming: ten a second look alive, and sixty would keep a processor busy. */
const shortestMs = 100;
/** A drawing that takes long is followed by this many times as long without one, so that nearly all frames are on time; a second at most. */
const rests = 25;
const longestMs = 1000;

const asked = new Set<() => void>();
let planned = false;
let restUntil = 0;

/** Draws all that was asked for in one frame. How long that takes, with layout and painting, is known when the frame is done. */
function run(): void {
  const from = performance.now();
  const draws = [...asked];
  asked.clear();
  for (const draw of draws) draw();
  setTimeout(() => {
    const took = performance.now() - from;
    restUntil = from + Math.min(longestMs, Math.max(shortestMs, took * rests));
    planned = false;
    if (asked.size > 0) plan();
  });
}

function plan(): void {
  if (planned) return;
  planned = true;
  if (document.hidden) setTimeout(run, longestMs);
  else setTimeout(() => requestAnimationFrame(run), restUntil - performance.now());
}

/**
 * A function that has `draw` run with one of the next frames, but not sooner than the shortest time after the last drawing of anything,
 * however often it is called meanwhile. A hidden tab draws once a second.
 */
export function paced(draw: () => void): () => void {
  return () => {
    asked.add(draw);
    plan();
  };
}
