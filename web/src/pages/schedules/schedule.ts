import type { Schemas } from '$lib/api/client';
import { duration, exact } from '$lib/i18n/format';
import { t } from '$lib/i18n/index.svelte';
import { w } from './words';

export type Job = Schemas['ScheduledJob'];

export const isHeartbeat = (job: Job): boolean => job.payload.kind === 'heartbeat';

/** When a job is due, as a sentence; of a cron expression the zone, for the expression stands beside it. */
export function whenOf({ schedule }: Job): string {
  switch (schedule.kind) {
    case 'at': {
      // Without a zone a time is UTC.
      const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(schedule.at ?? '') ? schedule.at! : `${schedule.at}Z`);
      return t(w.at, Number.isNaN(at) ? (schedule.at ?? '') : exact(at));
    }
    case 'every':
      return t(w.every, duration(schedule.everyMs ?? 0));
    case 'cron':
      return schedule.tz ? t(w.zone, schedule.tz) : t(w.hostZone);
  }
}

/** How long it is until a time: in 5 min. */
export const untilOf = (at: number, now: number): string =>
  at - now < 1000 ? t(w.soon) : t(w.inTime, duration(at - now));

/** Where the answer of a job is posted, as a text; empty if it is not. */
export function placeOf({ delivery }: Job): string {
  if (delivery?.mode !== 'announce') return '';
  if (!delivery.channel || delivery.channel === 'last') return delivery.to || t(w.lastPlace);
  return [delivery.channel, delivery.to, delivery.threadId].filter(Boolean).join(' · ');
}

/** What a job asks first, as a text: its command, or its tool with arguments. */
export function checkOf({ command, tool, arguments: given }: NonNullable<Job['check']>): string {
  return tool ? [tool, given && JSON.stringify(given)].filter(Boolean).join(' ') : (command ?? []).join(' ');
}
