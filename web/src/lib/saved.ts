const format = 'task-hub-settings-v1';
/** Names that the page itself uses, and sizes that no honest file exceeds. */
const name = /^[a-z][\w.-]{0,60}$/i;
const mostEntries = 200;
const mostBytes = 1_000_000;

/** Everything that the page has stored in this browser, as the text of a file. Nothing secret is among it. */
export function exported(storage: Storage): string {
  const values = Object.fromEntries(
    Object.keys(storage)
      .filter((key) => name.test(key))
      .sort()
      .map((key) => [key, storage.getItem(key) ?? '']),
  );
  return `${JSON.stringify({ format, values }, null, 2)}\n`;
}

/** Stores what a file of `exported` holds, beside what is there. Returns how many entries, or null if it is no such file: then nothing changes. */
export function imported(text: string, storage: Storage): number | null {
  let file: unknown;
  try {
    file = text.length > mostBytes ? null : JSON.parse(text);
  } catch {
    return null;
  }
  const { format: of, values } = (file ?? {}) as { format?: unknown; values?: unknown };
  if (of !== format || typeof values !== 'object' || values === null || Array.isArray(values)) return null;
  const entries = Object.entries(values as Record<string, unknown>);
  if (entries.length > mostEntries || !entries.every(([key, value]) => name.test(key) && typeof value === 'string'))
    return null;
  for (const [key, value] of entries) storage.setItem(key, value as string);
  return entries.length;
}
