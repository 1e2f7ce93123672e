/** Parts of the page's time, in milliseconds. */
export interface Took {
  /** From the beginning until the page was painted with its data. */
  ms: number;
  /** The part of it in which an answer of the API was awaited. */
  api: number;
}

/** What happened on the screen during a while. */
export interface Recorded {
  /** Lengths of the frames. */
  frames: number[];
  /** Lengths of tasks of 50 ms and more. */
  tasks: number[];
  /** Times from key presses to the next paint, those of 16 ms and more. */
  keys: number[];
  /** Longest time without an answer of the API for the path that was given. */
  oldest: number;
}

export interface Measures {
  /** Goes to an address of the page without loading it again. */
  move(path: string): Promise<Took>;
  /** Time since the document was asked for, once it is shown. */
  opened(): Promise<Took>;
  /** Records what happens on the screen; `path` is part of a request's address. */
  record(path: string): void;
  stop(): Recorded;
}

declare global {
  interface Window {
    measures: Measures;
  }
}

/** Runs in each page before its scripts, and measures there: what a driver outside measures includes its own way to the page. */
export function measures() {
  /** Resolves after the next paint. */
  const painted = () =>
    new Promise<number>((done) =>
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => done(performance.now());
        channel.port2.postMessage(0);
      }),
    );

  async function shown(): Promise<number> {
    for (;;) {
      const at = await painted();
      if (document.querySelector('main h1') && !document.querySelector('[aria-busy="true"]')) return at;
    }
  }

  /** Time within which at least one answer was awaited. */
  function awaited(from: number, to: number): number {
    const requests = (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
      .filter(({ name, responseEnd }) => /\/ui\/(api\/|session)/.test(name) && responseEnd > from && responseEnd <= to)
      .sort((a, b) => a.startTime - b.startTime);
    let sum = 0;
    let end = from;
    for (const { startTime, responseEnd } of requests) {
      sum += Math.max(0, responseEnd - Math.max(end, startTime));
      end = Math.max(end, responseEnd);
    }
    return sum;
  }

  const took = (from: number, to: number) => ({ ms: to - from, api: awaited(from, to) });
  performance.setResourceTimingBufferSize(100_000);
  const first = shown();

  let stop: (() => Recorded) | undefined;

  window.measures = {
    async move(path) {
      const from = performance.now();
      history.pushState(null, '', new URL(path, new URL('/ui/', location.origin)));
      dispatchEvent(new PopStateEvent('popstate', { state: null }));
      return took(from, await shown());
    },
    opened: async () => took(0, await first),
    record(path) {
      const from = performance.now();
      const frames: number[] = [];
      const tasks: number[] = [];
      const keys: number[] = [];
      let last: number | undefined;
      let next = requestAnimationFrame(function draw(at) {
        if (last !== undefined) frames.push(at - last);
        last = at;
        next = requestAnimationFrame(draw);
      });
      const observer = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          if (entry.entryType === 'longtask') tasks.push(entry.duration);
          else if (entry.name === 'keydown') keys.push(entry.duration);
        }
      });
      observer.observe({ type: 'longtask' });
      observer.observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
      stop = () => {
        cancelAnimationFrame(next);
        observer.disconnect();
        const answers = performance
          .getEntriesByType('resource')
          .filter(({ name }) => name.includes(path))
          .map((entry) => (entry as PerformanceResourceTiming).responseEnd)
          .filter((at) => at > from);
        const times = [from, ...answers, performance.now()];
        const oldest = Math.max(...times.slice(1).map((at, index) => at - times[index]!));
        return { frames, tasks, keys, oldest };
      };
    },
    stop: () => stop!(),
  };
}
