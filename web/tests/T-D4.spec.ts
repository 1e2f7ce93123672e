import { expect, test } from './stage/snapshot.ts';

/** Markdown that is left over outside of code. */
const raw = /\*\*\S|^#{1,6} |^```|\|---|~~\S/m;

for (const language of ['ko', 'en'] as const) {
  test(`T-D4 Markdown is rendered in messages and plain in previews (${language})`, async ({ snapshot }) => {
    const { views } = await snapshot(language);
    for (const { source, path, rows, head, words, tab } of views) {
      expect(
        rows.filter(({ title }) => raw.test(title)),
        `${source} ${path}`,
      ).toEqual([]);
      expect(raw.test(head?.title ?? ''), `${source} ${path}`).toBe(false);
      expect(
        words.filter((text) => raw.test(text)),
        `${source} ${path}`,
      ).toEqual([]);
      expect(tab).not.toMatch(raw);
    }
    const plan = views.filter(({ source, path }) => source === 'defects' && path.startsWith('c/ws_defect_3/'));
    expect(plan.length).toBeGreaterThan(0);
    for (const { messages } of plan) {
      expect(messages.length).toBeGreaterThan(0);
      for (const { tags } of messages) {
        expect(tags).toEqual(expect.arrayContaining(['strong', 'code', 'ul', 'li', 'del', 'table', 'td', 'pre']));
      }
    }
  });
}
