import { expect, test } from './stage/snapshot.ts';

for (const language of ['ko', 'en'] as const) {
  test(`T-D7 messages say sender, receiver and time, left and right (${language})`, async ({ snapshot }) => {
    const { views } = await snapshot(language);
    const messages = views.flatMap(({ source, path, messages }) =>
      messages.map((message) => ({ ...message, place: `${source} ${path}` })),
    );
    expect(messages.filter(({ right }) => right).length).toBeGreaterThan(20);
    expect(messages.filter(({ right }) => !right).length).toBeGreaterThan(20);
    for (const { who, time, place, id } of messages) {
      expect(who, `${place} ${id}`).toMatch(/\S→\S/);
      expect(Number.isNaN(Date.parse(time)), `${place} ${id} ${time}`).toBe(false);
    }
  });
}
