/** Characters that change or hide the text around them: direction marks and zero-width characters. */
const hidden =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/gu;

/** Whether a text has characters that cannot be seen. */
export const hidesSome = (text: string): boolean => text.search(hidden) >= 0;

/** A text without the characters that cannot be seen. */
export const visible = (text: string): string => text.replace(hidden, '');

/** A name, id or link as parts: text as it is, and invisible characters as their code, U+202E. */
export function visibleParts(text: string): { text: string; code: boolean }[] {
  const parts: { text: string; code: boolean }[] = [];
  let from = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > from) parts.push({ text: text.slice(from, match.index), code: false });
    parts.push({ text: `U+${match[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`, code: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), code: false });
  return parts;
}

/** A stable hue of 0 to 359 for a name, so that an agent has the same colour everywhere. */
export function hueOf(name: string): number {
  let hash = 2166136261;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  // The last bits of the sum differ little between short names, so they are mixed.
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
  return ((hash ^ (hash >>> 16)) >>> 0) % 360;
}

/** The first line of a description, which is its title. */
export const firstLine = (description: string): string => description.trimStart().split('\n', 1)[0]!;

/** Markdown as one line without its signs, for rows in lists. The text itself is shown rendered where it is open. */
export function plainLine(markdown: string): string {
  return markdown
    .replace(/^[ \t]*(`{3,}|~{3,})[^\n]*$/gm, ' ')
    .replace(/^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(\|[ \t:|-]*)?$/gm, ' ')
    .replace(/^[ \t]*(#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+)+/gm, '')
    .replace(/\*\*|__|~~|`/g, '')
    .replace(/^[ \t]*\||\|[ \t]*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}
