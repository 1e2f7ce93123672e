import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { test as base, expect, type BrowserContext, type Page } from '@playwright/test';
import { Proxy } from './proxy.ts';
import { Server, temporary, type Options } from './server.ts';
import { watchPage } from './watch.ts';

export { expect, type Page };

/** What went wrong in the browser during a test. Every test fails on it. */
export class Faults {
  list: string[] = [];
  #allowed: RegExp[] = [];

  /** Accepts faults that the test causes. */
  allow(...patterns: RegExp[]) {
    this.#allowed.push(...patterns);
  }

  add(fault: string) {
    this.list.push(fault);
  }

  get unexpected(): string[] {
    return this.list.filter((fault) => !this.#allowed.some((pattern) => pattern.test(fault)));
  }
}

/** Address and answers of the sample's server, which tests only read. */
export interface Hub {
  origin: string;
  url(path?: string): string;
  api<A = any>(path: string): Promise<A>;
}

interface Fixtures {
  faults: Faults;
  /** The sample team. Nothing may change it. */
  hub: Hub;
  /** Starts a server of the test's own; it ends with the test. */
  serve(options?: Options): Promise<Server>;
  /** Puts a proxy in front of a port; it ends with the test. */
  relay(port: number): Promise<Proxy>;
  /** A directory that is removed after the test. */
  folder: string;
}

export const test = base.extend<Fixtures>({
  faults: [
    async ({}, use) => {
      const faults = new Faults();
      await use(faults);
      expect(faults.unexpected, 'faults in the browser').toEqual([]);
    },
    { auto: true },
  ],

  // Servers and proxies end after the pages that use them: fixtures end in the opposite order of their beginning.
  context: async ({ folder: _folder, serve: _serve, relay: _relay, faults, context }, use) => {
    await watch(context, faults);
    await use(context);
  },

  hub: async ({}, use) => {
    const origin = process.env.OPENCLAWD_UI_SAMPLE!;
    await use({
      origin,
      url: (path = '') => `${origin}/ui/${path}`,
      async api(path) {
        const response = await fetch(`${origin}/api/${path}`);
        if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
        return await response.json();
      },
    });
  },

  serve: async ({}, use) => {
    const servers: Server[] = [];
    await use(async (options) => {
      const server = await Server.start(options);
      servers.push(server);
      return server;
    });
    await Promise.all(servers.map((server) => server.stop()));
  },

  relay: async ({}, use) => {
    const proxies: Proxy[] = [];
    await use(async (port) => {
      const proxy = await Proxy.start(port);
      proxies.push(proxy);
      return proxy;
    });
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  },

  folder: async ({}, use) => {
    const [dir, remove] = await temporary();
    await use(dir);
    await remove();
  },
});

/** Records every fault of a context's pages. */
export async function watch(context: BrowserContext, faults: Faults) {
  context.on('console', (message) => {
    if (message.type() === 'error') faults.add(`console: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', (error) => faults.add(`uncaught: ${error.error().stack ?? error.error().message}`));
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (
      !['data:', 'blob:', 'about:'].includes(url.protocol) &&
      !['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
    )
      faults.add(`request: ${request.url()}`);
  });
  await context.addInitScript(watchPage);
  await serveOtherBuild(context);
}

const kinds: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

/** With UI_DIST, files of the page come from that folder instead of the binary: `make ui-break` puts defects back there. */
async function serveOtherBuild(context: BrowserContext) {
  const folder = process.env.UI_DIST;
  if (!folder) return;
  const files = new Set(readdirSync(folder));
  await context.route(/\/ui\/a\/[0-9a-f]+\/[^/]+$/, async (route) => {
    const name = new URL(route.request().url()).pathname.split('/').at(-1)!;
    if (!files.has(name)) return route.fulfill({ status: 404 });
    await route.fulfill({ body: readFileSync(join(folder, name)), contentType: kinds[extname(name)] ?? 'text/plain' });
  });
}

/** Opens a page and waits until it is shown and nothing is loading. */
export async function visit(page: Page, url: string) {
  await page.goto(url);
  await shown(page);
}

/** Goes to an address of the page without loading it again, as Back does, and waits until it is shown. */
export async function move(page: Page, url: string) {
  await page.evaluate((url) => {
    history.pushState(null, '', url);
    dispatchEvent(new PopStateEvent('popstate', { state: null }));
  }, url);
  await shown(page);
}

/** Opens a page: from a page of the same server without loading it again, which takes a quarter of the processor's time. */
export async function show(page: Page, url: string) {
  await (page.url().startsWith(`${new URL(url).origin}/ui/`) ? move : visit)(page, url);
}

/** Waits until the page is shown: it has its heading, and no skeleton is left. */
export async function shown(page: Page) {
  await expect(page.locator('main h1').first()).toBeAttached();
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
}
