import { identOf } from '$lib/ids';

/** Something that a text may be the id of, and the id as the API takes it. */
export interface Candidate {
  kind: 'task' | 'session' | 'event' | 'trace' | 'work' | 'collaboration' | 'message' | 'agent';
  id: string;
}

/**
 * What a text may mean, the most likely first. An id of a known form is tried as that only, and then as what else may have it; a link to a
 * message in a channel is its id.
 */
export function candidates(text: string): Candidate[] {
  const id = text.trim();
  if (id === '') return [];
  const known = identOf(id);
  const of = (...kinds: Candidate['kind'][]) =>
    kinds.map((kind) => ({ kind, id: known && 'id' in known ? known.id : id }));
  switch (known?.kind) {
    case 'task':
      return of('task');
    case 'session':
      return of('session');
    case 'seq':
      return [{ kind: 'event', id: String(known.seq) }];
    case 'message':
      return of('message', 'collaboration');
    case 'place':
      return of('collaboration');
    case 'uuid':
      return of('trace', 'work', 'task', 'collaboration');
  }
  // A bare number is the seq of an event.
  if (/^#?\d{1,15}$/.test(id)) return [{ kind: 'event', id: id.replace('#', '') }];
  const thread = /^(?:conv|event):(.+)$/.exec(id)?.[1];
  if (thread) return [{ kind: 'trace', id: thread }];
  // Ids of queued work have a slash: mail/42. Runs have colons: continuation:eden:5:continue.
  if (id.includes('/')) return of('work', 'trace');
  return of('agent', 'task', 'trace', 'session', 'work', 'collaboration');
}
