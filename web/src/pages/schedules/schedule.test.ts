import { expect, it } from 'vitest';
import { locale } from '$lib/i18n/index.svelte';
import { checkOf, placeOf, untilOf, whenOf, type Job } from './schedule';

const job = (more: object) => ({ id: 'j', payload: { kind: 'agentTurn' }, ...more }) as unknown as Job;

it('says in both languages when a job is due', () => {
  locale.zone = 'Asia/Seoul';
  locale.language = 'en';
  const every = job({ schedule: { kind: 'every', everyMs: 7_200_000 } });
  const utc = job({ schedule: { kind: 'at', at: '2026-11-28T00:00:00' } });
  expect(whenOf(every)).toBe('every 2 h');
  expect(whenOf(utc)).toMatch(/^once at 2026-11-28 09:00:00/);
  expect(whenOf(job({ schedule: { kind: 'at', at: '2026-11-28T00:00:00+09:00' } }))).toMatch(/2026-11-28 00:00:00/);
  expect(whenOf(job({ schedule: { kind: 'at', at: 'soon' } }))).toBe('once at soon');
  expect(whenOf(job({ schedule: { kind: 'cron', expr: '0 9 * * *', tz: 'Asia/Seoul' } }))).toBe('zone Asia/Seoul');
  locale.language = 'ko';
  expect(whenOf(every)).toBe('2시간마다');
  expect(whenOf(job({ schedule: { kind: 'cron', expr: '0 9 * * *' } }))).toBe('서버의 시간대');
});

it('says how long it is until then, and where the answer goes', () => {
  locale.language = 'en';
  expect(untilOf(61_000, 1_000)).toBe('in 1 min');
  expect(untilOf(1_000, 5_000)).toBe('soon');
  expect(placeOf(job({}))).toBe('');
  expect(placeOf(job({ delivery: { mode: 'none', channel: 'discord' } }))).toBe('');
  expect(placeOf(job({ delivery: { mode: 'announce', channel: 'last' } }))).toBe('the last place');
  expect(placeOf(job({ delivery: { mode: 'announce', channel: 'discord', to: 'channel:1' } }))).toBe(
    'discord · channel:1',
  );
});

it('says what is asked first: a command, or a tool with arguments', () => {
  expect(checkOf({ command: ['test', '-f', 'mail'] })).toBe('test -f mail');
  expect(checkOf({ tool: 'mail__unread', arguments: { folder: 'in' } })).toBe('mail__unread {"folder":"in"}');
  expect(checkOf({ tool: 'mail__unread' })).toBe('mail__unread');
  expect(checkOf({})).toBe('');
});
