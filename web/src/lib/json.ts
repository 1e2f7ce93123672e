/** A line of a JSON value as text: `"key": value`, or the beginning or end of an object or array. */
export interface JsonLine {
  /** Keys and indexes down to the value, the same as long as the value has the same place. */
  path: string;
  depth: number;
  key: string | null;
  text: string;
  kind: 'open' | 'close' | 'empty' | 'string' | 'number' | 'word';
  /** Number of members of a folded object or array. */
  folded?: number;
  comma: boolean;
}

/** Lines of a value. Objects and arrays whose path is in `folded` take one line. */
export function jsonLines(value: unknown, folded: ReadonlySet<string>): JsonLine[] {
  const lines: JsonLine[] = [];
  const add = (item: unknown, key: string | null, path: string, depth: number, comma: boolean) => {
    if (item === null || typeof item !== 'object') {
      const kind = typeof item === 'string' ? 'string' : typeof item === 'number' ? 'number' : 'word';
      lines.push({ path, depth, key, text: JSON.stringify(item) ?? 'null', kind, comma });
      return;
    }
    const [before, after] = Array.isArray(item) ? ['[', ']'] : ['{', '}'];
    const members: [string, unknown][] = Array.isArray(item)
      ? item.map((member, index) => [String(index), member])
      : Object.entries(item);
    if (members.length === 0) {
      lines.push({ path, depth, key, text: before! + after!, kind: 'empty', comma });
      return;
    }
    if (folded.has(path)) {
      lines.push({ path, depth, key, text: `${before} … ${after}`, kind: 'open', folded: members.length, comma });
      return;
    }
    lines.push({ path, depth, key, text: before!, kind: 'open', comma: false });
    members.forEach(([name, member], index) =>
      add(
        member,
        Array.isArray(item) ? null : name,
        `${path}/${name.replaceAll('/', '~1')}`,
        depth + 1,
        index < members.length - 1,
      ),
    );
    lines.push({ path: `${path}/`, depth, key: null, text: after!, kind: 'close', comma });
  };
  add(value, null, '', 0, false);
  return lines;
}

/** Paths of objects and arrays at a depth or below, which a large value shows folded at first. */
export function foldedBelow(value: unknown, depth: number): Set<string> {
  const paths = new Set<string>();
  const visit = (item: unknown, path: string, at: number) => {
    if (item === null || typeof item !== 'object') return;
    if (at >= depth) paths.add(path);
    for (const [name, member] of Object.entries(item)) visit(member, `${path}/${name.replaceAll('/', '~1')}`, at + 1);
  };
  visit(value, '', 0);
  return paths;
}

/** Reads JSON as JSON.parse does, but integers that a number cannot hold become texts with all their digits. */
export function parseExact(text: string): unknown {
  const stringOrLong = /"(?:[^"\\]|\\.)*"|(?<![\w.+-])-?\d{16,}(?![\d.eE])/g;
  return JSON.parse(
    text.replace(stringOrLong, (found) =>
      found.startsWith('"') || Number.isSafeInteger(Number(found)) ? found : `"${found}"`,
    ),
  );
}
