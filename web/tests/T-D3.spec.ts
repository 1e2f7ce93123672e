import { expect, test } from './stage/snapshot.ts';

for (const language of ['ko', 'en'] as const) {
  test(`T-D3 mentions are names (${language})`, async ({ snapshot }) => {
    const { views } = await snapshot(language);
    for (const { source, path, texts, tab } of views) {
      expect(
        [tab, ...texts].filter((text) => /<[@#][!&]?\d+>|&lt;@/.test(text)),
        `${source} ${path}`,
      ).toEqual([]);
    }
    // An agent that is not known is said to be unknown, with the end of the id.
    const unknown = views
      .filter(({ source }) => source === 'defects')
      .flatMap(({ messages }) => messages.filter(({ text }) => /@\S.*…2892|@\S.*1465892|@.*…5892/.test(text)));
    expect(unknown.length).toBeGreaterThan(0);
  });
}
