import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from './test.ts';

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** What axe finds, with the elements. */
export async function violations(page: Page) {
  const { violations } = await new AxeBuilder({ page }).withTags(rules).analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary?.split('\n')[1]?.trim()}`),
  );
}

/** The page in both themes and languages, without loading it again. */
export async function expectAccessible(page: Page, place: string) {
  for (const language of ['ko', 'en'] as const) {
    const lang = await page.locator('html').getAttribute('lang');
    if (lang !== language)
      await page.getByRole('button', { name: language === 'ko' ? '한국어로 보기' : 'English로 보기' }).click();
    await expect(page.locator('html')).toHaveAttribute('lang', language);
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      expect(await violations(page), `${place} ${language} ${theme}`).toEqual([]);
    }
  }
  await page.getByRole('button', { name: '한국어로 보기' }).click();
}
