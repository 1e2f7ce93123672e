import axe from 'axe-core';
import { expect, type Page } from './test.ts';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** The rules about colours. */
const colours = ['color-contrast', 'link-in-text-block'];

/**
 * What axe finds against WCAG 2.2 AA in the document as it is now, or only about its colours, one line per element. The script is loaded once
 * per document and describes violations only: that takes a third of the time of a run that also describes what is right.
 */
export async function violations(page: Page, only: 'everything' | 'colours' = 'everything'): Promise<string[]> {
  expect(page.frames(), 'frames are not searched').toHaveLength(1);
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (runOnly): Promise<axe.AxeResults> =>
      (window as unknown as { axe: typeof axe }).axe.run(document, { runOnly, resultTypes: ['violations'] }),
    only === 'everything' ? ({ type: 'tag', values: tags } as const) : ({ type: 'rule', values: colours } as const),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary?.split('\n')[1]?.trim()}`),
  );
}

/** The page in both themes and languages, without loading it again. Only colours depend on the theme. */
export async function expectAccessible(page: Page, place: string) {
  for (const language of ['ko', 'en'] as const) {
    const lang = await page.locator('html').getAttribute('lang');
    if (lang !== language)
      await page.getByRole('button', { name: language === 'ko' ? '한국어로 보기' : 'English로 보기' }).click();
    await expect(page.locator('html')).toHaveAttribute('lang', language);
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      expect(
        await violations(page, theme === 'light' ? 'everything' : 'colours'),
        `${place} ${language} ${theme}`,
      ).toEqual([]);
    }
  }
  await page.getByRole('button', { name: '한국어로 보기' }).click();
}
