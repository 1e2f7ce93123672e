import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defectLines, defectTeam } from './defects.ts';
import { fixedTime, Server, temporary, top, until, writeHome } from './server.ts';
import { expect, move, type Page, shown, test as base, visit } from './test.ts';
import { everyPlace, everySession, type SampleSession } from './tour.ts';

export type Language = 'ko' | 'en';

/** What the page shows at a place, as far as the tests of T-D look at it. */
export interface View {
  source: 'sample' | 'defects';
  path: string;
  language: Language;
  /** Title of the tab. */
  tab: string;
  /** All visible texts, with titles and labels, and without what an agent wrote as it is. */
  texts: string[];
  /** Visible texts outside of ids, code and details, where ids belong. */
  words: string[];
  /** Texts of the page's own controls and headings. */
  controls: string[];
  /** Numbers that stand alone, with what explains them. */
  numbers: { text: string; explained: boolean; where: string }[];
  /** Rows of lists that lead somewhere. */
  rows: { row: string; href: string; title: string; badge: string }[];
  /** Title and badge of what is open. */
  head: { title: string; badge: string } | null;
  messages: { id: string; right: boolean; who: string; time: string; text: string; tags: string[] }[];
  cards: { id: string; badge: string; text: string }[];
}

export interface Snapshot {
  views: View[];
  sessions: Record<View['source'], SampleSession[]>;
  /** Names of the agents. */
  names: string[];
}

/** Reads the view from the document. */
function look(): Omit<View, 'source' | 'path' | 'language'> {
  const clean = (text: string | null | undefined) => (text ?? '').replace(/\s+/g, ' ').trim();
  const texts: string[] = [];
  const words: string[] = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node instanceof Element ? node : node.parentElement!;
    if (element.closest('[data-raw], script, style')) continue;
    const own =
      node instanceof Text ? [node.data] : [element.getAttribute('title'), element.getAttribute('aria-label')];
    for (const text of own) {
      if (!clean(text)) continue;
      texts.push(clean(text));
      if (node instanceof Text && !element.closest('code, pre, aside, .ident, [data-id-shown]'))
        words.push(clean(text));
    }
  }
  const controls = [
    ...document.querySelectorAll('button, label, th, [role=columnheader], h1, h2, h3, dt, summary, option, nav a'),
  ]
    .filter(
      (element) =>
        !element.querySelector('bdi') &&
        !element.closest('bdi, .markdown, [lang]:not(html), article, [data-raw], [role=dialog]'),
    )
    .map((element) =>
      clean(
        [...element.childNodes]
          .filter((child) => child instanceof Text)
          .map((child) => child.textContent)
          .join(' '),
      ),
    )
    .filter(Boolean);
  const numbers = [...document.querySelectorAll('main *')]
    .filter(
      (element) =>
        element.children.length === 0 &&
        /^\d[\d.,/ ]*$/.test(clean(element.textContent)) &&
        !element.closest('bdi, .markdown, article, code, pre, table, [data-raw], time'),
    )
    .map((element) => {
      const near =
        element.closest('button, a, dd, td, [role=cell], [role=columnheader], li, p, h2, h3, label, summary') ??
        element.parentElement!;
      const named = [element, element.parentElement!, near].some(
        (at) => at.getAttribute('title') || at.getAttribute('aria-label'),
      );
      return {
        text: clean(element.textContent),
        explained: named || element.closest('dd') !== null || clean(near.textContent) !== clean(element.textContent),
        where: clean(near.outerHTML).slice(0, 160),
      };
    });
  const badgeOf = (element: Element | null | undefined) => clean(element?.querySelector('.badge')?.textContent);
  const heading = document.querySelector('main .talk .heading');
  return {
    tab: document.title,
    texts,
    words,
    controls,
    numbers,
    rows: [...document.querySelectorAll<HTMLAnchorElement>('main a[data-row]')].map((link) => ({
      row: link.dataset.row ?? '',
      href: link.getAttribute('href') ?? '',
      title: clean(link.querySelector('.title')?.textContent ?? link.textContent),
      badge: badgeOf(link),
    })),
    head: heading && { title: clean(heading.querySelector('h2')?.textContent), badge: badgeOf(heading) },
    messages: [...document.querySelectorAll('main article.message')].map((message) => ({
      id: message.id,
      right: message.classList.contains('right'),
      who: clean(message.querySelector('header .who')?.textContent),
      time: message.querySelector('header time')?.getAttribute('datetime') ?? '',
      text: clean(message.querySelector('header')?.nextElementSibling?.textContent),
      tags: [...new Set([...message.querySelectorAll('.markdown *')].map(({ tagName }) => tagName.toLowerCase()))],
    })),
    cards: [...document.querySelectorAll('main section.outcome')].map((card) => ({
      id: card.id,
      badge: badgeOf(card),
      text: clean(card.textContent),
    })),
  };
}

/** So many pages are looked at by one worker at a time. */
const partSize = 20;

/** A part of what is looked at: some pages of one server, in both languages. */
interface Part {
  source: View['source'];
  from: number;
  to: number;
}

interface Taken {
  views: View[];
  sessions: SampleSession[];
  names: string[];
}

const languages: Language[] = ['ko', 'en'];

/** Shows the page in a language. */
async function speak(page: Page, language: Language) {
  const html = page.locator('html');
  if ((await html.getAttribute('lang')) === language) return;
  await page.getByRole('button', { name: language === 'ko' ? '한국어로 보기' : 'English로 보기' }).click();
  await expect(html).toHaveAttribute('lang', language);
}

/** Looks at the pages of a part. Each is opened in one language and then shown in the other one, by turns. */
async function lookAt(page: Page, origin: string, { source, from, to }: Part): Promise<Taken> {
  const api = apiOf(origin);
  const places = (await everyPlace({ api })).slice(from, to);
  const views: View[] = [];
  const order = [...languages];
  await visit(page, `${origin}/ui/`);
  for (const path of places) {
    await move(page, `${origin}/ui/${path}`);
    for (const language of order) {
      await speak(page, language);
      await shown(page);
      // Texts become Markdown when there is time for it.
      await expect(page.locator('main article.message .plain')).toHaveCount(0);
      views.push({ source, path, language, ...(await page.evaluate(look)) });
    }
    order.reverse();
  }
  const { agents } = await api('agents');
  return {
    views,
    sessions: await everySession({ api }),
    names: agents.map(({ id, name }: { id: string; name?: string }) => name ?? id),
  };
}

const apiOf = (origin: string) => async (path: string) => (await fetch(`${origin}/api/${path}`)).json();

/** Looks at a part. The team with the old defects has a server of its own for that time. */
async function take(page: Page, part: Part): Promise<Taken> {
  if (part.source === 'sample') return lookAt(page, process.env.OPENCLAWD_UI_SAMPLE!, part);
  const [home, remove] = await temporary();
  await writeHome(home, defectTeam, defectLines());
  const server = await Server.start({ home, args: ['--follow', '--clock', fixedTime] });
  try {
    return await lookAt(page, server.origin, part);
  } finally {
    await page.goto('about:blank');
    await server.stop();
    await remove();
  }
}

const folder = join(top, 'bin/ui-test-views');
const yes = () => true;
const no = () => false;
const exists = (path: string) => stat(path).then(yes, no);

/** What one worker of a run makes for all of them: a file, and a directory that says that it is being made. */
class Shared {
  readonly #file: string;
  readonly #lock: string;

  constructor(name: string) {
    const path = join(folder, `${process.env.OPENCLAWD_UI_RUN}-${name}`);
    [this.#file, this.#lock] = [`${path}.json`, `${path}.lock`];
  }

  /** Makes it, if it is not there and no other worker makes it. */
  async offer(make: () => Promise<unknown>) {
    if ((await exists(this.#file)) || !(await mkdir(this.#lock).then(yes, no))) return;
    try {
      if (await exists(this.#file)) return;
      await writeFile(`${this.#file}.new`, JSON.stringify(await make()));
      await rename(`${this.#file}.new`, this.#file);
    } finally {
      await rm(this.#lock, { recursive: true });
    }
  }

  /** Waits while another worker makes it. What that one could not make is made here. */
  async get<T>(make: () => Promise<T>): Promise<T> {
    await until(
      async () => {
        await this.offer(make);
        return exists(this.#file);
      },
      'the other worker to look at its part of the pages',
      220_000,
    );
    return JSON.parse(await readFile(this.#file, 'utf8')) as T;
  }
}

/** All parts, with what they are called. The few pages of the second server are one part. */
async function everyPart(): Promise<{ part: Part; shared: Shared }[]> {
  const { length } = await everyPlace({ api: apiOf(process.env.OPENCLAWD_UI_SAMPLE!) });
  const parts: Part[] = [{ source: 'defects', from: 0, to: Infinity }];
  for (let from = 0; from < length; from += partSize) parts.push({ source: 'sample', from, to: from + partSize });
  return parts.map((part) => ({ part, shared: new Shared(`${part.source}-${part.from}`) }));
}

/**
 * Tests over everything that the page shows of the sample and of the log with the old defects. It is looked at once in a run, by all workers
 * that wait for it; `views` are those of the language asked for.
 */
export const test = base.extend<{ snapshot: (language: Language) => Promise<Snapshot> }>({
  snapshot: async ({ page, faults }, use) => {
    await use(async (language) => {
      base.setTimeout(240_000);
      // Whatever is wrong with texts is found by the tests that look for it.
      if (process.env.UI_DIST) faults.allow(/^console: visible text/);
      await mkdir(folder, { recursive: true });
      const parts = await everyPart();
      for (const { part, shared } of parts) await shared.offer(() => take(page, part));
      const taken: (Taken & Part)[] = [];
      for (const { part, shared } of parts) taken.push({ ...part, ...(await shared.get(() => take(page, part))) });
      return {
        views: taken.flatMap(({ views }) => views.filter((view) => view.language === language)),
        sessions: Object.fromEntries(taken.map(({ source, sessions }) => [source, sessions])) as Snapshot['sessions'],
        names: [...new Set(taken.flatMap(({ names }) => names))],
      };
    });
  },
});

export { expect };
