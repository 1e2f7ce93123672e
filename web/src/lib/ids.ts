/** What a pasted text is, without asking anybody: an id of a known form or a link to a message in a channel. */
export type Ident =
  | { kind: 'task' | 'session' | 'uuid'; id: string }
  | { kind: 'message' | 'place'; id: string }
  | { kind: 'seq'; seq: number };

const links: { form: RegExp; message: (parts: string[]) => string | null }[] = [
  {
    form: /^https:\/\/(?:\w+\.)?discord(?:app)?\.com\/channels\/(?:\d+|@me)\/\d+(?:\/(\d+))?$/,
    message: ([, message]) => message ?? null,
  },
  {
    form: /^https:\/\/t\.me\/c\/(\d+)(?:\/\d+)?\/(\d+)(?:\?.*)?$/,
    message: ([, group, message]) => `telegram:-100${group}:${message}`,
  },
  {
    form: /^https:\/\/[\w-]+(?:\.enterprise)?\.slack\.com\/archives\/(\w+)(?:\/p(\d{7,})(\d{6})(?:\?.*)?)?$/,
    message: ([, chat, seconds, part]) => (seconds ? `slack:${chat!.toLowerCase()}:${seconds}.${part}` : null),
  },
];

/** A message in Telegram or Slack, as the log names it. */
const named = /^(?:telegram:-?\d+(?:\.\d+)?:\w+|slack:[a-z0-9]+:\d+\.\d{6})$/;

export function identOf(text: string): Ident | null {
  const id = text.trim();
  for (const { form, message } of links) {
    const parts = form.exec(id);
    if (!parts) continue;
    const found = message(parts);
    return found === null ? { kind: 'place', id } : { kind: 'message', id: found };
  }
  if (named.test(id)) return { kind: 'message', id };
  if (/^task_\w+$/.test(id)) return { kind: 'task', id };
  if (/^(ws:)?ws_[\w-]+$/.test(id)) return { kind: 'session', id: id.replace(/^ws:/, '') };
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(id)) return { kind: 'uuid', id };
  const seq = /^(?:seq\s*)(\d{1,15})$/.exec(id);
  if (seq) return { kind: 'seq', seq: Number(seq[1]) };
  if (/^\d{17,20}$/.test(id)) return { kind: 'message', id };
  return null;
}
