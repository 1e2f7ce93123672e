import { eventTypes } from '$lib/i18n/events';
import { locale, t, type Word } from '$lib/i18n/index.svelte';
import { areaWords as w } from './words';

/** Areas of event types, by how the types begin: the first that fits. */
const areas: [Word, RegExp][] = [
  [w.messages, /^a2a\.(?!job|spawn|collaborate)/],
  [w.deliveries, /^a2a\.job\./],
  [w.requests, /^(a2a\.collaborate|collab)\./],
  [w.subAgents, /^(a2a\.spawn|delegation\.)/],
  [w.continuation, /^(continuation|unblock|resume_reminder|zombie)\./],
  [w.tasks, /^(task|backlog|milestone)\./],
  [w.plans, /^plan\./],
  [w.sessions, /^(session|work_session)\./],
  [w.runs, /^(run|tool)\./],
  [w.work, /^work\./],
  [w.channels, /^(discord|telegram|slack|thread|identity|pairing)\./],
  [w.files, /^(file|import|config)\./],
  [w.system, /^/],
];

export interface Area {
  title: string;
  types: { type: string; name: string }[];
}

/** The known types by area, each with its words, in the order of the words in the language of the page. */
export function typesByArea(): Area[] {
  const found = new Map(areas.map(([word]) => [word, [] as Area['types']]));
  for (const [type, word] of Object.entries(eventTypes)) {
    const [area] = areas.find(([, begins]) => begins.test(type))!;
    found.get(area)!.push({ type, name: t(word) });
  }
  return [...found].map(([word, types]) => ({
    title: t(word),
    types: types.toSorted(
      (a, b) => a.name.localeCompare(b.name, locale.language) || a.type.localeCompare(b.type, 'en'),
    ),
  }));
}
