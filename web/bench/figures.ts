import { test as base, expect, type Page } from '@playwright/test';
import { Server, temporary, type Options } from '../tests/stage/server.ts';
import { measures } from './measures.ts';

/** A measured value with its goal, as openclawd-bench prints them. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** What the value is compared with, or the limit. */
  baseline: number;
  ratio: number;
  goal: string;
  ok: boolean;
  /** How it was measured, and what the baseline is. */
  note: string;
}

/** A value that must not exceed a limit. */
export const within = (name: string, value: number, unit: string, limit: number, note: string): Figure => ({
  name,
  value,
  unit,
  baseline: limit,
  ratio: limit === 0 ? value : value / limit,
  goal: limit === 0 ? '0' : `<= ${limit} ${unit}`,
  ok: value <= limit,
  note,
});

/** A time that may exceed that of an idle run by a few milliseconds. */
export const beyondIdle = (name: string, value: number, idle: number, more: number, note: string): Figure => ({
  name,
  value,
  unit: 'ms',
  baseline: idle,
  ratio: value / idle,
  goal: `<= idle + ${more} ms`,
  ok: value <= idle + more,
  note,
});

/** Value of which a share `q` of a list is not larger, by nearest rank; 0 for an empty list. */
export function quantile(list: readonly number[], q: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(q * sorted.length), sorted.length - 1)] ?? 0;
}
export const median = (list: readonly number[]): number => quantile(list, 0.5);

interface Fixtures {
  /** Puts figures into the table. */
  report(...figures: Figure[]): void;
  /** Starts a server, which ends with the measurement. */
  serve(options?: Options): Promise<Server>;
  folder: string;
  /** Opens a page of a browser that knows nothing yet, with `window.measures`. */
  open(): Promise<Page>;
}

export const test = base.extend<Fixtures>({
  report: async ({}, use, info) => {
    await use((...figures) => {
      for (const figure of figures) info.annotations.push({ type: 'figure', description: JSON.stringify(figure) });
    });
  },

  folder: async ({}, use) => {
    const [dir, remove] = await temporary();
    await use(dir);
    await remove();
  },

  serve: async ({ folder: _folder }, use) => {
    const servers: Server[] = [];
    await use(async (options) => {
      const server = await Server.start(options);
      servers.push(server);
      return server;
    });
    await Promise.all(servers.map((server) => server.stop()));
  },

  open: async ({ browser, serve: _serve }, use) => {
    const faults: string[] = [];
    let close = async () => {};
    await use(async () => {
      await close();
      const context = await browser.newContext();
      close = () => context.close();
      context.on('weberror', (error) => faults.push(error.error().stack ?? error.error().message));
      await context.addInitScript(measures);
      return await context.newPage();
    });
    await close();
    expect(faults, 'errors of the page').toEqual([]);
  },
});
