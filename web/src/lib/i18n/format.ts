import { locale } from './index.svelte';

const tag = () => (locale.language === 'ko' ? 'ko-KR' : 'en-GB');

const formats = new Map<string, unknown>();

/** Intl objects are expensive to make, so each is made once per language and zone. */
function kept<T>(key: string, make: () => T): T {
  const full = `${tag()} ${locale.zone} ${key}`;
  if (!formats.has(full)) formats.set(full, make());
  return formats.get(full) as T;
}

export const number = (value: number): string => kept('number', () => new Intl.NumberFormat(tag())).format(value);

/** 0.42 as 42 %. */
export const percent = (value: number): string =>
  kept('percent', () => new Intl.NumberFormat(tag(), { style: 'percent' })).format(value);

/** Bytes in KiB, MiB or GiB. */
export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${kept(`bytes${digits}`, () => new Intl.NumberFormat(tag(), { maximumFractionDigits: digits })).format(value)} ${units[unit]}`;
}

export const list = (items: string[]): string =>
  kept('list', () => new Intl.ListFormat(tag(), { type: 'conjunction', style: 'short' })).format(items);

/** Time of day, 05:14 or with seconds 05:14:22. */
export const clockTime = (ms: number, seconds = true): string =>
  kept(
    `clock${seconds}`,
    () =>
      new Intl.DateTimeFormat(tag(), {
        hour: '2-digit',
        minute: '2-digit',
        second: seconds ? '2-digit' : undefined,
        hourCycle: 'h23',
        timeZone: locale.zone,
      }),
  ).format(ms);

/** Day with weekday: 11월 22일 (일), Sun 22 Nov. */
export const day = (ms: number): string =>
  kept(
    'day',
    () => new Intl.DateTimeFormat(tag(), { month: 'short', day: 'numeric', weekday: 'short', timeZone: locale.zone }),
  ).format(ms);

/** Date and time to the second with the zone: what a relative time shows on hover and focus. 2026-11-22 05:14:22 GMT+9. */
export const exact = (ms: number): string => `${dayKey(ms)} ${clockTime(ms)} ${zoneName(ms)}`;

const zoneName = (ms: number): string =>
  kept('zone', () => new Intl.DateTimeFormat(tag(), { timeZone: locale.zone, timeZoneName: 'short' }))
    .formatToParts(ms)
    .find(({ type }) => type === 'timeZoneName')?.value ?? locale.zone;

/** Key of the day in the shown zone, to compare days: 2026-11-22. */
export const dayKey = (ms: number): string =>
  kept(
    'key',
    () =>
      new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit', timeZone: locale.zone }),
  ).format(ms);

/** Whether a day such as 2026-02-28 is over in the shown zone; a text that is no day is not. */
export const isPastDay = (text: string, now: number): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text) && text < dayKey(now);

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

/** "6시간 전", "6 hr ago": from a time to now, in the largest unit that is at least one. */
export function relative(ms: number, now: number): string {
  const difference = ms - now;
  const size = Math.abs(difference);
  const format = kept('relative', () => new Intl.RelativeTimeFormat(tag(), { numeric: 'auto', style: 'short' }));
  if (size < 5000) return locale.language === 'ko' ? '지금' : 'now';
  const [unit, length] = steps.find(([, step]) => size >= step) ?? steps[3]!;
  return format.format(Math.trunc(difference / length), unit);
}

/** "6시간 35분", "6 h 35 min": a length of time in its two largest units. */
export function duration(ms: number): string {
  const ko = locale.language === 'ko';
  const names: [string, string, number][] = [
    ['일', 'd', 86_400_000],
    ['시간', 'h', 3_600_000],
    ['분', 'min', 60_000],
    ['초', 's', 1000],
  ];
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const first = names.findIndex(([, , length]) => ms >= length);
  let rest = ms;
  const parts: string[] = [];
  for (const [korean, english, length] of names.slice(first, first + 2)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(ko ? `${count}${korean}` : `${count} ${english}`);
  }
  return parts.join(' ');
}

/** Stopwatch of something that runs: 0:12, 1:02:07. */
export function stopwatch(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, '0');
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
