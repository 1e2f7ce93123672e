import { expect, it } from 'vitest';
import { eventTypes } from '$lib/i18n/events';
import { locale } from '$lib/i18n/index.svelte';
import { typesByArea } from './areas';

it('has each type once, by words, in an area that has more than one', () => {
  for (const language of ['ko', 'en'] as const) {
    locale.language = language;
    const areas = typesByArea();
    expect(areas.flatMap(({ types }) => types.map(({ type }) => type)).sort()).toEqual(Object.keys(eventTypes).sort());
    for (const { title, types } of areas) {
      expect(types.length, title).toBeGreaterThan(1);
      const names = types.map(({ name }) => name);
      expect(names, title).toEqual(names.toSorted((a, b) => a.localeCompare(b, language)));
    }
  }
  locale.language = 'ko';
  expect(typesByArea().find(({ types }) => types.some(({ type }) => type === 'task.blocked'))!.title).toBe('작업');
});
