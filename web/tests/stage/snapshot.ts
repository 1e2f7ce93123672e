import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defectLines, defectTeam } from './defects.ts';
import { fixedTime, Server, temporary, top, until, writeHome } from './server.ts';
import { expect, move, type Page, test as base, visit } from './test.ts';
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

async function take(page: Page, language: Language): Promise<Snapshot> {
  const [folder, remove] = await temporary();
  await writeHome(folder, defectTeam, defectLines());
  const server = await Server.start({ home: folder, args: ['--follow', '--clock', fixedTime] });
  try {
    const views: View[] = [];
    const sessions = {} as Snapshot['sessions'];
    const names: string[] = [];
    for (const [source, origin] of [
      ['sample', process.env.OPENCLAWD_UI_SAMPLE!],
      ['defects', server.origin],
    ] as const) {
      const api = async (path: string) => (await fetch(`${origin}/api/${path}`)).json();
      sessions[source] = await everySession({ api });
      const { agents } = await api('agents');
      names.push(...agents.map(({ id, name }: { id: string; name?: string }) => name ?? id));
      const places = await everyPlace({ api });
      await page.goto(`${origin}/ui/`);
      await page.evaluate((language) => localStorage.setItem('language', language), language);
      await visit(page, `${origin}/ui/`);
      for (const path of places) {
        await move(page, `${origin}/ui/${path}`);
        // Texts become Markdown when there is time for it.
        await expect(page.locator('main article.message .plain')).toHaveCount(0);
        views.push({ source, path, language, ...(await page.evaluate(look)) });
      }
    }
    return { views, sessions, names };
  } finally {
    await page.goto('about:blank');
    await server.stop();
    await remove();
  }
}

/**
 * Tests over everything that the page shows of the sample and of the log with the old defects. Each language is looked at once in a run of all
 * tests; `views` are those of the languages asked for.
 */
export const test = base.extend<{ snapshot: (language: Language) => Promise<Snapshot> }>({
  snapshot: async ({ page, faults }, use) => {
    await use(async (language) => {
      base.setTimeout(240_000);
      // Whatever is wrong with texts is found by the tests that look for it.
      if (process.env.UI_DIST) faults.allow(/^console: visible text/);
      const folder = join(top, 'bin/ui-test-views');
      const name = `${process.env.OPENCLAWD_UI_RUN}-${language}`;
      const [file, lock] = [join(folder, `${name}.json`), join(folder, `${name}.lock`)];
      await mkdir(folder, { recursive: true });
      const mine =
        !(await exists(file)) &&
        (await mkdir(lock).then(
          () => true,
          () => false,
        ));
      if (mine && !(await exists(file))) {
        try {
          await writeFile(`${file}.new`, JSON.stringify(await take(page, language)));
          await rename(`${file}.new`, file);
        } finally {
          await rm(lock, { recursive: true });
        }
      } else {
        await until(
          async () => (await exists(file)) || !(await exists(lock)),
          'the other worker to look at all pages',
          220_000,
        );
      }
      return JSON.parse(await readFile(file, 'utf8'));
    });
  },
});

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

export { expect };
