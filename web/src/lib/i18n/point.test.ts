import { describe, expect, it } from 'vitest';
import { parsePoint } from './point';

const seoul = 'Asia/Seoul';
const now = Date.parse('2026-11-23T11:42:18+09:00');

/** The point as ISO in UTC, `seq 300`, `now`, or null. */
function read(text: string, at = now, zone = seoul): string | null {
  const point = parsePoint(text, at, zone);
  if (point === null || point === 'now') return point;
  return 'seq' in point ? `seq ${point.seq}` : new Date(point.ms).toISOString().replace('.000Z', 'Z');
}

describe('a point in time', () => {
  it.each([
    ['seq 300', 'seq 300'],
    ['SEQ:300', 'seq 300'],
    ['#300', 'seq 300'],
    ['300', 'seq 300'],
    ['0', 'seq 0'],
    ['지금', 'now'],
    ['now', 'now'],
    ['1763780000000', '2025-11-22T02:53:20Z'],
  ])('%s is an event, a number of milliseconds, or now', (text, wanted) => expect(read(text)).toBe(wanted));

  it.each([
    ['03:12', '2026-11-22T18:12:00Z'],
    ['3:12', '2026-11-22T18:12:00Z'],
    ['11:42', '2026-11-23T02:42:00Z'],
    ['11:43', '2026-11-22T02:43:00Z'],
    ['23:59:30', '2026-11-22T14:59:30Z'],
    ['오전 3:12', '2026-11-22T18:12:00Z'],
    ['오후 3:12', '2026-11-22T06:12:00Z'],
    ['3:12 pm', '2026-11-22T06:12:00Z'],
    ['오전 12:05', '2026-11-22T15:05:00Z'],
    ['3시', '2026-11-22T18:00:00Z'],
    ['18시 30분', '2026-11-22T09:30:00Z'],
    ['3pm', '2026-11-22T06:00:00Z'],
  ])('%s is the last such time of day', (text, wanted) => expect(read(text)).toBe(wanted));

  it.each([
    ['어제 18:00', '2026-11-22T09:00:00Z'],
    ['어제18:00', '2026-11-22T09:00:00Z'],
    ['yesterday 18:00', '2026-11-22T09:00:00Z'],
    ['어제', '2026-11-21T15:00:00Z'],
    ['오늘 09:00', '2026-11-23T00:00:00Z'],
    ['오늘 18:00', '2026-11-23T09:00:00Z'],
    ['그제 오후 6시', '2026-11-21T09:00:00Z'],
    ['2026-11-22T03:12', '2026-11-21T18:12:00Z'],
    ['2026-11-22 03:12:05', '2026-11-21T18:12:05Z'],
    ['2026-11-22', '2026-11-21T15:00:00Z'],
    ['11-22 03:12', '2026-11-21T18:12:00Z'],
    ['11/22', '2026-11-21T15:00:00Z'],
    ['12/24 18:00', '2025-12-24T09:00:00Z'],
    ['11월 22일 오후 3:12', '2026-11-22T06:12:00Z'],
    ['2025년 1월 2일', '2025-01-01T15:00:00Z'],
  ])('%s is a day and a time in the zone', (text, wanted) => expect(read(text)).toBe(wanted));

  it.each([
    ['2026-11-22T03:12:00Z', '2026-11-22T03:12:00Z'],
    ['2026-11-22T03:12+09:00', '2026-11-21T18:12:00Z'],
    ['2026-11-22 03:12:00.000-0500', '2026-11-22T08:12:00Z'],
  ])('%s has its own offset', (text, wanted) => expect(read(text)).toBe(wanted));

  it.each([
    ['-2h', '2026-11-23T00:42:18Z'],
    ['−2h', '2026-11-23T00:42:18Z'],
    ['-30m', '2026-11-23T02:12:18Z'],
    ['-1h30m', '2026-11-23T01:12:18Z'],
    ['-1d', '2026-11-22T02:42:18Z'],
    ['2시간 전', '2026-11-23T00:42:18Z'],
    ['1시간 30분 전', '2026-11-23T01:12:18Z'],
    ['90 min ago', '2026-11-23T01:12:18Z'],
    ['45초 전', '2026-11-23T02:41:33Z'],
  ])('%s is so long before now', (text, wanted) => expect(read(text)).toBe(wanted));

  it.each([
    '',
    '  ',
    'soon',
    '25:00',
    '12:60',
    '13:00 pm',
    '오전 0:30',
    '2026-02-30',
    '13-01',
    '어제 저녁',
    'seq -3',
    '-2x',
    '2h',
    '2026-11-22T03:12 tomorrow',
    '1234567890123456789',
  ])('"%s" is none', (text) => expect(read(text)).toBe(null));
});

describe('where clocks change', () => {
  const newYork = 'America/New_York';
  // 2026-03-08 02:00 EST is 03:00 EDT; 2026-11-01 02:00 EDT is 01:00 EST.
  it('a time that is skipped is as long after the change', () => {
    expect(read('2026-03-08 02:30', now, newYork)).toBe('2026-03-08T07:30:00Z');
    expect(read('2026-03-08 01:59', now, newYork)).toBe('2026-03-08T06:59:00Z');
    expect(read('2026-03-08 03:00', now, newYork)).toBe('2026-03-08T07:00:00Z');
  });
  it('a time that is there twice is the first', () => {
    expect(read('2026-11-01 01:30', now, newYork)).toBe('2026-11-01T05:30:00Z');
    expect(read('2026-11-01 00:59', now, newYork)).toBe('2026-11-01T04:59:00Z');
    expect(read('2026-11-01 02:00', now, newYork)).toBe('2026-11-01T07:00:00Z');
  });
  it('yesterday is a day of the calendar, and -1d are 24 hours', () => {
    const after = Date.parse('2026-11-01T20:00:00-05:00');
    expect(read('어제 20:00', after, newYork)).toBe('2026-11-01T00:00:00Z');
    expect(read('-1d', after, newYork)).toBe('2026-11-01T01:00:00Z');
    expect(read('-0d', after, newYork)).toBe(new Date(after).toISOString().replace('.000Z', 'Z'));
  });
  it('zones half an hour apart, and those south of the equator, have theirs', () => {
    expect(read('2026-10-04 02:15', now, 'Australia/Lord_Howe')).toBe('2026-10-03T15:45:00Z');
    expect(read('2026-01-15 12:00', now, 'Asia/Kathmandu')).toBe('2026-01-15T06:15:00Z');
  });
});
