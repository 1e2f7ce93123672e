/** About how wide a sign is in the smallest text of the page. */
const widthOf = (sign: string): number => (sign.codePointAt(0)! >= 0x1100 ? 12.5 : 7);

/** A text cut to about a width in pixels, because SVG does not cut texts; empty if not even two signs fit. */
export function shortened(text: string, width: number): string {
  let used = 0;
  let out = '';
  for (const sign of text) {
    used += widthOf(sign);
    if (used > width) return [...out].length > 2 ? `${[...out].slice(0, -1).join('')}…` : '';
    out += sign;
  }
  return out;
}
