import { locale, t } from '$lib/i18n/index.svelte';
import { w } from './words';

const sunday = Date.UTC(2026, 10, 29);

/** A day of the week, 0 for Sunday, in the language of the page. */
const weekday = (day: number): string =>
  new Intl.DateTimeFormat(locale.language, { weekday: 'long', timeZone: 'UTC' }).format(
    sunday + (day % 7) * 86_400_000,
  );

/** A number of a field, if it is one within its limits. */
const one = (field: string, most: number): number | null =>
  /^\d{1,2}$/.test(field) && Number(field) <= most ? Number(field) : null;

/** Days of a week on which a job is due, as words; empty if they are others than all, the working days or one. */
function daysOf(field: string): string {
  if (field === '*') return t(w.daily);
  if (/^(1-5|mon-fri)$/i.test(field)) return t(w.weekdays);
  const day = one(field, 7);
  return day === null ? '' : t(w.weekly, weekday(day));
}

/** What a cron expression says, for those that most jobs have; empty for others, which stand for themselves. */
export function cronWords(expr: string): string {
  const [minute, hour, date, month, days, ...rest] = expr.trim().split(/\s+/);
  if (days === undefined || rest.length > 0 || date !== '*' || month !== '*') return '';
  const at = one(minute!, 59);
  if (hour === '*' && days === '*') {
    const every = /^\*\/(\d{1,2})$/.exec(minute!);
    if (minute === '*') return t(w.everyMinutes, 1);
    if (every && 60 % Number(every[1]) === 0) return t(w.everyMinutes, Number(every[1]));
    return at === null ? '' : t(w.hourly, at);
  }
  const of = one(hour!, 23);
  const on = daysOf(days);
  if (at === null || of === null || on === '') return '';
  const two = (n: number) => String(n).padStart(2, '0');
  return t(w.clock, on, `${two(of)}:${two(at)}`);
}
