import { ApiError, Building, read } from './api/client';
import { clock } from './clock.svelte';
import { locale } from './i18n/index.svelte';
import { parsePoint } from './i18n/point';

/** The field for a point in time, which any page can open. */
class TimeField {
  open = $state(false);
}
export const timeField = new TimeField();

/** A text that names no point in time. */
export class UnknownPoint extends Error {
  override name = 'UnknownPoint';
}

/** The event that a text means: about the last one that happened at or before a time; null is now. Throws UnknownPoint and ApiError. */
export async function pointOf(text: string): Promise<number | null> {
  const point = parsePoint(text, clock.exactly(), locale.zone);
  if (point === null) throw new UnknownPoint(text);
  if (point === 'now') return null;
  const query =
    'seq' in point ? { at: String(point.seq) } : { time: new Date(point.ms).toISOString(), by: 'event' as const };
  const answer = await read('/api/replay/point', { query });
  if (answer instanceof Building) throw new ApiError('internal', 202, 'The point is not known yet.');
  return answer.data.seq;
}

/** The next event that reports a failure, or the one before; null if there is none. It needs no snapshot. */
export async function failureFrom(seq: number, direction: 'later' | 'earlier'): Promise<number | null> {
  const at = direction === 'later' ? seq + 1 : Math.max(1, seq);
  const answer = await read('/api/replay/step', { query: { at, n: 0 } });
  if (answer instanceof Building) return null;
  return direction === 'later' ? answer.data.nextError : answer.data.previousError;
}
