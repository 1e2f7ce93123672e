/** Shortest time between two drawings of what keeps coming: ten a second look alive, and sixty would keep a processor busy. */
const shortestMs = 100;

/**
 * A function that has `draw` run with the next frame, but not sooner than the shortest time after its last run, however often it is called
 * meanwhile. A hidden tab draws once a second.
 */
export function paced(draw: () => void): () => void {
  let planned = false;
  let drawnAt = -Infinity;
  const run = () => {
    planned = false;
    drawnAt = performance.now();
    draw();
  };
  return () => {
    if (planned) return;
    planned = true;
    const wait = drawnAt + shortestMs - performance.now();
    if (document.hidden) setTimeout(run, 1000);
    else if (wait > 0) setTimeout(() => requestAnimationFrame(run), wait);
    else requestAnimationFrame(run);
  };
}
