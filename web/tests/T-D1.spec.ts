import { expect, test } from './stage/snapshot.ts';

for (const language of ['ko', 'en'] as const) {
  test(`T-D1 outcomes are words and cards, never a marker in a text (${language})`, async ({ snapshot }) => {
    const { views } = await snapshot(language);
    for (const { source, path, texts, tab } of views) {
      const raw = [tab, ...texts].filter((text) => /\[outcome\]/i.test(text));
      expect(raw, `${source} ${path}`).toEqual([]);
    }
    // What ended without an answer is a card with the reason in words, not a message.
    const cards = views.flatMap(({ cards }) => cards);
    expect(cards.length).toBeGreaterThan(5);
    for (const card of cards) expect(card.badge, card.text).toMatch(/막힘|답 없음|blocked|no reply/i);
    for (const { path, messages } of views.filter(({ source }) => source === 'sample')) {
      const told = messages.filter(({ text }) => /LLM request rejected|대기 시간 \d+초 초과/.test(text));
      expect(told, path).toEqual([]);
    }
  });
}
