import { expect, show, type Page, test } from './stage/test.ts';

const pages = [
  '',
  'c?cat=all',
  'tasks',
  'tasks?view=list',
  'tasks?view=deps',
  'agents',
  'agents?view=policy',
  'agents/eden',
  'agents/eden?tab=plans',
  'inbox',
  'inbox?tab=decided',
  'owed?open=false',
  'schedules',
  'tools',
  'tools?tab=rights&agent=eden',
  'search?q=배포',
  'log?scope=all',
  'time',
  'time/diff?a=100&b=head',
  'why',
  'health',
  'settings',
  'settings/config',
];

/**
 * What the eye would stumble over: text that is cut without a sign, a field that is narrower than what is chosen in it, and a control whose
 * middle lies below something else.
 */
const faultsOf = (page: Page) =>
  page.evaluate(() => {
    const faults: string[] = [];
    const named = (element: Element) =>
      `${element.tagName.toLowerCase()}.${element.classList[0] ?? ''} “${(element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 60)}”`;
    const shown = (element: Element) => {
      const box = element.getBoundingClientRect();
      return (
        box.width > 1 && box.height > 1 && (element as HTMLElement).checkVisibility({ visibilityProperty: true }) && box
      );
    };
    for (const element of document.body.querySelectorAll<HTMLElement>('*')) {
      if (!shown(element) || element.closest('.visually-hidden, svg, .skip')) continue;
      const style = getComputedStyle(element);
      const ownText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent!.trim() !== '');
      const clips = style.overflowX === 'hidden' || style.overflowX === 'clip';
      if (ownText && clips && style.textOverflow !== 'ellipsis' && element.scrollWidth > element.clientWidth + 1)
        faults.push(`cut: ${named(element)}`);
      if (element instanceof HTMLSelectElement) {
        const alone = element.cloneNode(true) as HTMLSelectElement;
        alone.value = element.value;
        Object.assign(alone.style, { position: 'absolute', fieldSizing: 'content', width: 'auto', maxWidth: 'none' });
        element.after(alone);
        if (alone.offsetWidth > element.offsetWidth + 1)
          faults.push(`narrow: ${named(element)} ${element.offsetWidth} < ${alone.offsetWidth}`);
        alone.remove();
      }
    }
    for (const control of document.querySelectorAll<HTMLElement>(
      'main :is(a[href], button, input, select, textarea), header :is(a[href], button, input)',
    )) {
      const box = shown(control);
      if (!box || control.closest('.visually-hidden, .skip')) continue;
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) continue;
      const top = document.elementFromPoint(x, y);
      // A row that is a link as a whole lies below its own controls, and what is scrolled away lies below nothing.
      if (!top || control.contains(top) || top.contains(control)) continue;
      if (control.closest('li, tr, [role="row"], article')?.contains(top)) continue;
      if (scrolledAway(control, x, y)) continue;
      faults.push(`covered: ${named(control)} by ${named(top)}`);
    }
    return faults;

    function scrolledAway(element: Element, x: number, y: number): boolean {
      for (let box = element.parentElement; box; box = box.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(box);
        if (overflowX === 'visible' && overflowY === 'visible') continue;
        const area = box.getBoundingClientRect();
        if (x < area.left || x > area.right || y < area.top || y > area.bottom) return true;
      }
      return false;
    }
  });

for (const [language, sizes] of [
  ['ko', { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }],
  ['en', { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }],
] as const) {
  test(`T-VIS nothing is cut, too narrow or covered (${language})`, async ({ page, hub }) => {
    test.setTimeout(180_000);
    await page.addInitScript((language) => localStorage.setItem('language', language), language);
    for (const path of pages) {
      await show(page, hub.url(path));
      for (const [name, size] of Object.entries(sizes)) {
        await page.setViewportSize(size);
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        expect.soft(await faultsOf(page), `${path} (${name})`).toEqual([]);
        const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect.soft(sideways, `${path} (${name}) sideways`).toBeLessThanOrEqual(0);
      }
      await page.setViewportSize(sizes.desk);
    }
  });
}
