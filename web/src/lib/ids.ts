/** What a pasted text is, without asking anybody: an id of a known form or a link to a message of Discord. */
export type Ident =
  { kind: 'task' | 'session' | 'uuid'; id: string } | { kind: 'discord'; id: string } | { kind: 'seq'; seq: number };

export function identOf(text: string): Ident | null {
  const id = text.trim();
  const link = /^https:\/\/(?:\w+\.)?discord(?:app)?\.com\/channels\/(?:\d+|@me)\/\d+(?:\/(\d+))?$/.exec(id);
  if (link) return { kind: 'discord', id: link[1] ?? id };
  if (/^task_\w+$/.test(id)) return { kind: 'task', id };
  if (/^(ws:)?ws_[\w-]+$/.test(id)) return { kind: 'session', id: id.replace(/^ws:/, '') };
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(id)) return { kind: 'uuid', id };
  const seq = /^(?:seq\s*)(\d{1,15})$/.exec(id);
  if (seq) return { kind: 'seq', seq: Number(seq[1]) };
  if (/^\d{17,20}$/.test(id)) return { kind: 'discord', id };
  return null;
}
