/** Query of a URL as one value or several per key, in order. Unknown keys are kept. */
export type Query = Record<string, string | string[]>;

/** A place in the app: segments of the path below the root, decoded; the query; and the fragment without #. */
export interface Place {
  path: string[];
  query: Query;
  hash: string;
}

/** Reads a path relative to the root, as `c/ws_1/conv%3Ax?agent=eden#e431`. Segments are decoded once, as the API reads ids. */
export function parsePlace(relative: string): Place {
  const [beforeHash = '', hash = ''] = splitOnce(relative, '#');
  const [path = '', search = ''] = splitOnce(beforeHash, '?');
  const query: Query = {};
  for (const [key, value] of new URLSearchParams(search)) {
    const old = query[key];
    query[key] = old === undefined ? value : Array.isArray(old) ? [...old, value] : [old, value];
  }
  return { path: path.split('/').filter(Boolean).map(decode), query, hash: decode(hash) };
}

/** Writes what parsePlace reads. Keys with an empty value are left out. */
export function formatPlace(place: Place): string {
  const path = place.path.map(encodeSegment).join('/');
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(place.query)) {
    for (const item of Array.isArray(value) ? value : [value]) if (item !== '') search.append(key, item);
  }
  const text = search.toString();
  return path + (text && `?${text}`) + (place.hash && `#${encodeURIComponent(place.hash)}`);
}

/** The value of a key that should have one. */
export const one = (query: Query, key: string): string | undefined => {
  const value = query[key];
  return Array.isArray(value) ? value[0] : value;
};

/** All values of a key, whether repeated or joined by commas. */
export const many = (query: Query, key: string): string[] => {
  const value = query[key];
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).flatMap((item) => item.split(',')).filter(Boolean);
};

/** Colons stay: ids have many. */
const encodeSegment = (segment: string): string => encodeURIComponent(segment).replaceAll('%3A', ':');

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function splitOnce(text: string, separator: string): string[] {
  const index = text.indexOf(separator);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}
