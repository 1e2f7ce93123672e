import { expect, it } from 'vitest';
import { locale } from '../i18n/index.svelte';
import type { Stuck } from '../i18n/problems';
import { quote, quoteOf } from './quote';

it('quotes what a problem is about, why and since when, in the language of the page', () => {
  locale.zone = 'Asia/Seoul';
  const problem = {
    kind: 'task_blocked',
    title: '외부 API\n연동',
    reason: 'API 키 대기',
    fields: {},
    sinceMs: Date.parse('2026-11-22T07:00:00Z'),
  } as unknown as Stuck;
  locale.language = 'ko';
  expect(quoteOf(problem)).toBe('> 외부 API 연동 · 작업 막힘\n> API 키 대기\n> 2026-11-22 16:00:00 GMT+9부터\n');
  // What the advice wants is a command, which would not be one below a quotation.
  expect(quoteOf({ ...problem, code: 'context_too_long' } as Stuck)).toBe('');
  locale.language = 'en';
  expect(quoteOf(problem)).toContain('> 외부 API 연동 · Task blocked\n> API 키 대기\n> since 2026-11-22 16:00:00');
});

it('leaves out what is not known, and is short', () => {
  locale.language = 'ko';
  expect(quote('', '막힘', '', 0)).toBe('> 막힘\n');
  expect(quote('a'.repeat(1000), '', 'b'.repeat(1000), 0).length).toBeLessThan(620);
});
