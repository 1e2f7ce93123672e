/** What a text that names a point in time means: an event by its seq, a time, or now. */
export type Point = { seq: number } | { ms: number } | 'now';

/** A day of the calendar. The month counts from 1. */
interface Day {
  year: number;
  month: number;
  day: number;
}

const minute = 60_000;
const hour = 60 * minute;

/**
 * Reads `seq 300`, `300`, `03:12`, `오후 3:12`, `18시 30분`, `어제 18:00`, `-2h`, `1h30m ago`, `2시간 전`, `2026-11-22T03:12`, `11-22 03:12`, `11월 22일`,
 * ISO with an offset, milliseconds since 1970, and `지금`. A time of day without a day is the last such time; a day without a time is its start.
 * Wall times are those of the zone. Null is none of these.
 */
export function parsePoint(text: string, now: number, zone: string): Point | null {
  const said = text.trim().toLowerCase().replace(/\s+/g, ' ');
  if (said === '') return null;
  if (/^(now|head|지금|현재)$/.test(said)) return 'now';
  const seq = /^(?:seq ?[:=#]? ?|#)?(\d{1,12})$/.exec(said);
  if (seq) return { seq: Number(seq[1]) };
  if (/^\d{13,15}$/.test(said)) return { ms: Number(said) };
  const ago = agoOf(said);
  if (ago !== null) return { ms: now - ago };
  const exact = exactOf(text.trim());
  if (exact !== null) return { ms: exact };
  return wallOf(said, now, zone);
}

const units: [RegExp, number][] = [
  [/^(?:d|days?|일)$/, 24 * hour],
  [/^(?:h|hrs?|hours?|시간)$/, hour],
  [/^(?:m|mins?|minutes?|분)$/, minute],
  [/^(?:s|secs?|seconds?|초)$/, 1000],
];

/** Milliseconds of `-1h30m`, `-2h`, `2시간 전`, `90 min ago`; null for another text. */
function agoOf(said: string): number | null {
  const length = /^[-−] ?(.+)$/.exec(said)?.[1] ?? /^(.+?) ?(?:전|ago)$/.exec(said)?.[1];
  if (length === undefined || !/^(?:\d+ ?[a-z가-힣]+ ?)+$/.test(length)) return null;
  let ms = 0;
  for (const [, count, unit] of length.matchAll(/(\d+) ?([a-z]+|[가-힣]+)/g)) {
    const found = units.find(([name]) => name.test(unit!));
    if (!found) return null;
    ms += Number(count) * found[1];
  }
  return ms;
}

/** A time with its offset from UTC; null for another text. */
function exactOf(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}[t ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(z|[+-]\d{2}:?\d{2})$/i.test(text)) return null;
  const ms = Date.parse(text.replace(' ', 'T').replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
  return Number.isNaN(ms) ? null : ms;
}

function wallOf(said: string, now: number, zone: string): Point | null {
  const today = dayOf(now, zone);
  const found = namedDay(said, today);
  if (found === 'wrong') return null;
  const rest = (found ? said.slice(found.length) : said).replace(/^(?:t|,)/, '').trim();
  if (found && rest === '') return { ms: wallTime(found.day, 0, zone) };
  const time = timeOf(rest);
  if (time === null) return null;
  if (found) return { ms: wallTime(found.day, time, zone) };
  const last = wallTime(today, time, zone);
  return { ms: last <= now ? last : wallTime(dayBefore(today), time, zone) };
}

const dayNames: [RegExp, number][] = [
  [/^(?:그저께|그제)/, 2],
  [/^(?:어제|yesterday)/, 1],
  [/^(?:오늘|today)/, 0],
];

/** The day that a text begins with and its length; null if it begins with none, `wrong` if the day is not in the calendar. */
function namedDay(said: string, today: Day): { day: Day; length: number } | null | 'wrong' {
  for (const [name, back] of dayNames) {
    const found = name.exec(said);
    if (!found) continue;
    let day = today;
    for (let i = 0; i < back; i++) day = dayBefore(day);
    return { day, length: found[0].length };
  }
  const dated =
    /^(?:(\d{4})[-/.])?(\d{1,2})[-/.](\d{1,2})(?![\d:])\.?/.exec(said) ??
    /^(?:(\d{4})년 ?)?(\d{1,2})월 ?(\d{1,2})일/.exec(said);
  if (!dated) return null;
  const [month, day] = [Number(dated[2]), Number(dated[3])];
  let year = dated[1] === undefined ? today.year : Number(dated[1]);
  // Without a year it is the last such day.
  if (dated[1] === undefined && (month > today.month || (month === today.month && day > today.day))) year--;
  const made = new Date(Date.UTC(year, month - 1, day));
  if (made.getUTCMonth() !== month - 1 || made.getUTCDate() !== day) return 'wrong';
  return { day: { year, month, day }, length: dated[0].length };
}

/** Milliseconds since midnight of `03:12`, `3:12:05 pm`, `오후 3:12`, `18시 30분`; null for another text. */
function timeOf(said: string): number | null {
  const found =
    /^(오전|오후|am|pm)? ?(\d{1,2})(?::(\d{2})(?::(\d{2}))?|시(?: ?(\d{1,2})분)?| ?(?=am|pm)) ?(am|pm)?$/.exec(said);
  if (!found) return null;
  const half = found[1] ?? found[6];
  let hours = Number(found[2]);
  const [minutes, seconds] = [Number(found[3] ?? found[5] ?? 0), Number(found[4] ?? 0)];
  if (minutes > 59 || seconds > 59 || hours > (half ? 12 : 23) || (half && hours === 0)) return null;
  if (half) hours = (hours % 12) + (/오후|pm/.test(half) ? 12 : 0);
  return hours * hour + minutes * minute + seconds * 1000;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Milliseconds by which the zone's clocks are ahead of UTC at a time. */
function offset(ms: number, zone: string): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(zone, format);
  }
  const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const wall = Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute, part.second);
  return wall - Math.floor(ms / 1000) * 1000;
}

function dayOf(ms: number, zone: string): Day {
  const wall = new Date(ms + offset(ms, zone));
  return { year: wall.getUTCFullYear(), month: wall.getUTCMonth() + 1, day: wall.getUTCDate() };
}

function dayBefore({ year, month, day }: Day): Day {
  const before = new Date(Date.UTC(year, month - 1, day - 1));
  return { year: before.getUTCFullYear(), month: before.getUTCMonth() + 1, day: before.getUTCDate() };
}

/**
 * The time at which the zone's clocks show a wall time. Where they show it twice it is the first; where they skip it, it is as long after the
 * change as the wall time is after the skipped hour's start.
 */
function wallTime({ year, month, day }: Day, ofDay: number, zone: string): number {
  const wall = Date.UTC(year, month - 1, day) + ofDay;
  const before = offset(wall - 24 * hour, zone);
  const after = offset(wall + 24 * hour, zone);
  for (const known of [before, after]) if (offset(wall - known, zone) === known) return wall - known;
  return wall - before;
}
