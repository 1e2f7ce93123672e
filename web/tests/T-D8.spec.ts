import { expect, test } from './stage/snapshot.ts';

for (const language of ['ko', 'en'] as const) {
  test(`T-D8 no escapes, no numbers without a word, one language at a time (${language})`, async ({ snapshot }) => {
    const { views, names } = await snapshot(language);
    const withoutNames = (text: string) => names.reduce((left, name) => left.replaceAll(name, ''), text);
    for (const { source, path, texts, numbers, controls, tab } of views) {
      const place = `${source} ${path}`;
      expect(
        [tab, ...texts].filter((text) => /\\u[0-9a-f]{4}|&#\d+;|\\n/i.test(text)),
        place,
      ).toEqual([]);
      expect(
        numbers.filter(({ explained }) => !explained),
        place,
      ).toEqual([]);
      if (language === 'en')
        expect(
          controls.filter((text) => /[가-힣]/.test(withoutNames(text)) && text !== '한국어'),
          place,
        ).toEqual([]);
    }
  });
}
