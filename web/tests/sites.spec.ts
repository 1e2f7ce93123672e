import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { copySample } from './stage/server.ts';
import { expect, test as base, type Page, visit } from './stage/test.ts';

// Everyone on this machine may read and operate this server without a login, so that nothing but the walls against other sites protects it.
const test = base.extend<{ evil: { page: string; name: string } }>({
  evil: async ({}, use) => {
    const site = createServer((request, answer) => {
      answer.setHeader('Content-Type', 'text/html');
      answer.end('<!doctype html><title>evil</title><body>');
    });
    await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
    const { port } = site.address() as AddressInfo;
    // Another port of this address is another origin of the same site; evil.test is another site that points here.
    await use({ page: `http://127.0.0.1:${port}/`, name: `http://evil.test:${port}/` });
    site.closeAllConnections();
    await new Promise((done) => site.close(done));
  },
});

/** What a page of another origin tries. Each returns what it could read or do, or null. */
async function attack(page: Page, origin: string, session: string) {
  return page.evaluate(
    async ({ origin, session }) => {
      const category = JSON.stringify({ category: 'qa_validation', collabCategory: 'qa_validation' });
      const got: string[] = [];
      const attempt = async (name: string, run: () => Promise<unknown>) => {
        try {
          const result = await Promise.race([run(), new Promise((done) => setTimeout(done, 1500, null))]);
          if (result) got.push(`${name}: ${String(result).slice(0, 100)}`);
        } catch {
          // refused
        }
      };
      const json = { 'Content-Type': 'application/json', 'X-Openclawd-Ui': '1' };
      const paths = [`ui/api/work-sessions/${session}/category`, `api/work-sessions/${session}/category`];
      for (const path of paths) {
        for (const method of ['PATCH', 'POST', 'PUT', 'DELETE']) {
          await attempt(`${method} ${path}`, () =>
            fetch(`${origin}/${path}`, { method, headers: json, body: category }).then((r) => r.text()),
          );
          await attempt(`simple ${method} ${path}`, () =>
            fetch(`${origin}/${path}`, {
              method,
              mode: 'no-cors',
              credentials: 'include',
              headers: { 'Content-Type': 'text/plain' },
              body: category,
            }).then((r) => r.text()),
          );
        }
        await attempt(`beacon ${path}`, async () => void navigator.sendBeacon(`${origin}/${path}`, category));
        const form = document.createElement('form');
        const frame = document.createElement('iframe');
        frame.name = `frame ${path}`;
        document.body.append(frame);
        Object.assign(form, { method: 'post', action: `${origin}/${path}`, enctype: 'text/plain', target: frame.name });
        const input = document.createElement('input');
        Object.assign(input, { name: category.slice(0, -1) + ',"x":"', value: '"}' });
        form.append(input);
        document.body.append(form);
        form.submit();
        await new Promise((done) => setTimeout(done, 200));
      }
      await attempt('session', () =>
        fetch(`${origin}/ui/session`, { method: 'POST', headers: json, body: '{"token":"x"}' }).then((r) => r.text()),
      );
      await attempt('log out', () =>
        fetch(`${origin}/ui/session?everywhere=true`, { method: 'DELETE', headers: json }).then((r) => r.text()),
      );
      for (const path of ['ui/api/health', 'ui/api/work-sessions', 'ui/session', 'ui/', 'ui/readyz']) {
        await attempt(`read ${path}`, () =>
          fetch(`${origin}/${path}`, { credentials: 'include' }).then((r) => r.text()),
        );
        await attempt(`read no-cors ${path}`, () =>
          fetch(`${origin}/${path}`, { mode: 'no-cors' }).then((r) => r.text()),
        );
        await attempt(
          `image ${path}`,
          () =>
            new Promise((done, no) => {
              const image = new Image();
              image.onload = () => done('loaded');
              image.onerror = no;
              image.src = `${origin}/${path}`;
            }),
        );
        await attempt(
          `script ${path}`,
          () =>
            new Promise((done, no) => {
              const script = document.createElement('script');
              script.onload = () => no();
              script.onerror = no;
              script.src = `${origin}/${path}`;
              document.body.append(script);
            }),
        );
        await attempt(
          `frame ${path}`,
          () =>
            new Promise((done) => {
              const frame = document.createElement('iframe');
              frame.src = `${origin}/${path}`;
              frame.onload = () => {
                try {
                  done(frame.contentDocument?.body.textContent || null);
                } catch {
                  done(null);
                }
              };
              document.body.append(frame);
            }),
        );
      }
      for (const path of ['ui/ws', 'ui/gateway']) {
        await attempt(
          `socket ${path}`,
          () =>
            new Promise((done, no) => {
              const socket = new WebSocket(`${origin.replace('http', 'ws')}/${path}?since=0&scope=all`);
              socket.onmessage = ({ data }) => done(data);
              socket.onerror = no;
            }),
        );
      }
      await attempt(
        'stream',
        () =>
          new Promise((done, no) => {
            const source = new EventSource(`${origin}/ui/api/events`);
            source.onmessage = ({ data }) => done(data);
            source.onerror = no;
          }),
      );
      // What /api answers to pages of this machine is not the page's business; that it writes nothing is seen in the log.
      return got.filter((what) => !what.includes(' api/'));
    },
    { origin, session },
  );
}

for (const from of ['another port', 'another site'] as const) {
  test(`T-SEC-3 a page of ${from} changes nothing and reads nothing`, async ({ page, serve, folder, faults, evil }) => {
    test.setTimeout(120_000);
    faults.allow(/^console:/, /^request: http:\/\/evil\.test/);
    await copySample(folder);
    const server = await serve({ home: folder, args: ['--clock', '2026-02-20T12:00:00Z'] });
    await server.settle(2000);
    const { sessions } = await server.api('work-sessions?limit=1&status=ACTIVE,QUIET,ARCHIVED');
    const session = sessions[0].workSessionId;
    const before = { head: await server.head(), category: sessions[0].collabCategory };

    await page.goto(from === 'another port' ? evil.page : evil.name);
    expect(await attack(page, server.origin, session)).toEqual([]);
    const framed = page
      .frames()
      .filter((frame) => frame !== page.mainFrame() && frame.url().startsWith(`${server.origin}/ui/`));
    for (const frame of framed) await expect(frame.locator('main')).toHaveCount(0);

    const after = await server.api('work-sessions?limit=1&status=ACTIVE,QUIET,ARCHIVED');
    expect({ head: await server.head(), category: after.sessions[0].collabCategory }).toEqual(before);

    // The same request of the page itself is carried out: the attack was a real one.
    await visit(page, server.url());
    const status = await page.evaluate(
      async (session) =>
        (
          await fetch(`/ui/api/work-sessions/${session}/category`, {
            method: 'PATCH',
            headers: { 'Content-Type': 'application/json', 'X-Openclawd-Ui': '1' },
            body: JSON.stringify({ collabCategory: 'qa_validation' }),
          })
        ).status,
      session,
    );
    expect(status).toBe(200);
    expect(await server.head()).toBeGreaterThan(before.head);
  });
}

test('T-SEC-3 another name for this address is refused', async ({ page, serve, folder, faults }) => {
  faults.allow(
    /Failed to load resource/,
    /Cross-Origin-Opener-Policy header has been ignored/,
    /^request: http:\/\/evil\.test/,
  );
  await copySample(folder);
  const server = await serve({ home: folder, args: ['--follow'] });
  for (const path of ['ui/', 'ui/api/health', 'ui/session', 'api/health', 'ui/c/ws_1']) {
    const answer = await page.goto(`http://evil.test:${server.port}/${path}`);
    expect(answer!.status()).toBe(421);
    expect(await answer!.text()).toContain('unknown_host');
  }
  // From its own name the attacker's page may ask freely, but the answer is the refusal.
  const read = await page.evaluate(async () => {
    const health = await fetch('/ui/api/health');
    const socket = await new Promise((done) => {
      const socket = new WebSocket(`ws://${location.host}/ui/ws`);
      socket.onopen = () => done('open');
      socket.onerror = () => done('refused');
    });
    return [health.status, socket];
  });
  faults.allow(/WebSocket connection/);
  expect(read).toEqual([421, 'refused']);
});

test('T-SEC-3 a window of the page cannot be reached from the page that opened it', async ({
  page,
  context,
  serve,
  folder,
  faults,
  evil,
}) => {
  faults.allow(/^request: http:\/\/evil\.test/);
  await copySample(folder);
  const server = await serve({ home: folder, args: ['--follow'] });
  await page.goto(evil.name);
  const opened = context.waitForEvent('page');
  await page.evaluate((url) => void ((window as any).opened = window.open(url)), server.url());
  const hub = await opened;
  await expect(hub.locator('main h1')).toBeVisible();
  expect(await hub.evaluate(() => window.opener)).toBeNull();
  expect(await page.evaluate(() => (window as any).opened.closed)).toBe(true);
});

test('T-SEC-2 every answer below /ui/ has the headers', async ({ hub, request }) => {
  const answers = await Promise.all(
    ['', 'c/ws_1/x', 'api/health', 'api/nothing', 'session', 'a/0/app.js', 'readyz', 'healthz', 'ws'].map((path) =>
      request.get(hub.url(path)),
    ),
  );
  answers.push(await request.post(hub.url('session'), { data: {} }), await request.put(hub.url()));
  for (const answer of answers) {
    const headers = answer.headers();
    const policy = headers['content-security-policy'] ?? '';
    expect(policy, answer.url()).toContain("default-src 'none'");
    expect(policy, answer.url()).toContain("require-trusted-types-for 'script'");
    expect(policy, answer.url()).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['access-control-allow-origin'], answer.url()).toBeUndefined();
  }
});
