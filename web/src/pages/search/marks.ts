/** A part of a text; `hit` if it matched. */
export interface Part {
  text: string;
  hit: boolean;
}

/**
 * A text as parts, by ranges in UTF-16 units as the API gives them. Ranges that overlap or touch become one; what lies outside of the text is
 * cut off.
 */
export function parts(text: string, matches: readonly { start: number; end: number }[]): Part[] {
  const ranges: { start: number; end: number }[] = [];
  for (const { start, end } of [...matches].sort((a, b) => a.start - b.start)) {
    const range = { start: Math.max(0, start), end: Math.min(text.length, end) };
    if (range.start >= range.end) continue;
    const last = ranges.at(-1);
    if (last && range.start <= last.end) last.end = Math.max(last.end, range.end);
    else ranges.push(range);
  }
  const found: Part[] = [];
  let from = 0;
  for (const { start, end } of ranges) {
    if (start > from) found.push({ text: text.slice(from, start), hit: false });
    found.push({ text: text.slice(start, end), hit: true });
    from = end;
  }
  if (from < text.length) found.push({ text: text.slice(from), hit: false });
  return found;
}
