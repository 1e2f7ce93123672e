import { expect, test } from './stage/snapshot.ts';

const rawId = /\b(task|plan|conv|ws|pair)[_:][0-9a-f]{4,}/i;

for (const language of ['ko', 'en'] as const) {
  test(`T-D2 titles are words, and a task in a text is a chip with its description (${language})`, async ({
    snapshot,
  }) => {
    const { views, sessions } = await snapshot(language);
    const titles = new Map(
      Object.values(sessions)
        .flat()
        .map(({ workSessionId, title }) => [workSessionId, title.replace(/\s+/g, ' ').trim()]),
    );
    for (const { source, path, tab, rows, head, words } of views) {
      expect(tab, path).not.toMatch(rawId);
      expect(
        rows.filter(({ title }) => rawId.test(title)),
        `${source} ${path}`,
      ).toEqual([]);
      if (head) expect(head.title, `${source} ${path}`).not.toMatch(rawId);
      // Tasks that the log only names by id have no other name.
      if (!path.startsWith('tasks') && !path.startsWith('search') && source === 'sample')
        expect(
          words.filter((text) => /\btask_[0-9a-f]{4,}/.test(text)),
          `${source} ${path}`,
        ).toEqual([]);
    }
    const lists = views.filter(({ path }) => path === 'c?cat=all');
    expect(lists).toHaveLength(2);
    for (const { rows } of lists) {
      expect(rows.length).toBeGreaterThan(4);
      for (const { row, title } of rows) expect(title).toBe(titles.get(row));
    }
  });
}
