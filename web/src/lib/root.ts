/**
 * Root of the page as the browser sees it, with a slash at the end: `https://host/team/a/ui/`. The server serves this module as
 * ui/a/<hash>/app.js, and Vite's development server as /ui/src/lib/root.ts; both are two folders below the root. No setting is needed behind a
 * proxy that strips a prefix.
 */
const here = import.meta.url;
export const root = new URL('../../', here.startsWith('http') ? here : 'http://localhost/ui/a/0/app.js');

/** Hash of the build that runs here, as in the header X-Openclawd-Ui; null in development. */
export const buildHash = /\/a\/([0-9a-f]+)\/[^/]*$/.exec(here)?.[1] ?? null;

/** URL of a path below the root: `at('api/status')`. */
export const at = (path: string): URL => new URL(path, root);
