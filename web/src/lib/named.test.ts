import { expect, it } from 'vitest';
import { locale } from './i18n/index.svelte';
import { sorted } from './named';

it('orders names by the language of the page, not by that of who saved them', () => {
  const list = ['beta', '나', 'Alpha', '가'].map((name) => ({ name }));
  locale.language = 'ko';
  expect(sorted(list).map(({ name }) => name)).toEqual(['가', '나', 'Alpha', 'beta']);
  locale.language = 'en';
  expect(sorted(list).map(({ name }) => name)).toEqual(['Alpha', 'beta', '가', '나']);
});
