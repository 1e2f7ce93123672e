import { expect, it } from 'vitest';
import { locale } from '$lib/i18n/index.svelte';
import { cronWords } from './cron';

const cases = [
  ['0 9 * * 1-5', 'weekdays at 09:00', '평일 09:00'],
  ['30 18 * * MON-FRI', 'weekdays at 18:30', '평일 18:30'],
  ['5 0 * * *', 'daily at 00:05', '매일 00:05'],
  ['0 9 * * 1', 'every Monday at 09:00', '매주 월요일 09:00'],
  ['0 9 * * 7', 'every Sunday at 09:00', '매주 일요일 09:00'],
  ['0 * * * *', 'every hour', '매시 정각'],
  ['15 * * * *', 'every hour, at minute 15', '매시 15분'],
  ['*/5 * * * *', 'every 5 minutes', '5분마다'],
  ['* * * * *', 'every minute', '1분마다'],
  // Said as it is: these have no short words, or none that are true.
  ['*/7 * * * *', '', ''],
  ['*/0 * * * *', '', ''],
  ['0 9 1 * *', '', ''],
  ['0 9,18 * * *', '', ''],
  ['0 25 * * *', '', ''],
  ['0 9 * * 1,3', '', ''],
  ['0 0 9 * * 1', '', ''],
  ['@daily', '', ''],
  ['', '', ''],
] as const;

it.each(cases)('says what %s means', (expr, en, ko) => {
  locale.language = 'en';
  expect(cronWords(expr)).toBe(en);
  locale.language = 'ko';
  expect(cronWords(expr)).toBe(ko);
});
