import { exact } from '$lib/i18n/format';
import { locale, t } from '$lib/i18n/index.svelte';
import { longestMarkdown, render } from '$lib/md/render';
import { visible } from '$lib/text';
import type { Row } from '../model';
import { w } from '../words';

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text: string) => visible(text).replace(/[&<>"']/g, (sign) => escapes[sign]!);

/** The style of the file, which stands alone: it loads nothing, and its policy forbids it to. */
const style = `
  :root { color-scheme: light dark; }
  body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 system-ui, "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans CJK KR", sans-serif; word-break: keep-all; overflow-wrap: anywhere; }
  h1 { font-size: 1.4rem; }
  article { margin: 1rem 0; padding: .6rem .9rem; border: 1px solid color-mix(in srgb, currentColor 22%, transparent); border-radius: 6px; }
  article.state { border-style: dashed; }
  header, footer { font-size: .85rem; opacity: .8; }
  pre { overflow: auto; } table { border-collapse: collapse; } td, th { border: 1px solid; padding: .2rem .5rem; }
`;

/** One HTML file with the messages, which opens without a server. Texts of agents are sanitised as in the page. */
export function toHTML(title: string, rows: readonly Row[], name: (id: string) => string, source: string): string {
  const parts: string[] = [];
  for (const row of rows) {
    if (row.kind !== 'message' && row.kind !== 'outcome') continue;
    const { from, to, time, text, state, seq } = row.entry;
    const body =
      text.length > longestMarkdown
        ? `<pre>${escape(text)}</pre>`
        : String(render(text, (host) => t(w.openImage, host)));
    parts.push(
      `<article id="e${seq}"${state ? ' class="state"' : ''}><header><strong><bdi>${escape(name(from))}</bdi> → <bdi>${escape(name(to))}</bdi></strong>` +
        ` · <time datetime="${new Date(time).toISOString()}">${escape(exact(time))}</time> · seq ${seq}${state ? ` · ${escape(state)}` : ''}</header>${body}</article>`,
    );
  }
  return `<!doctype html>
<html lang="${locale.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<title>${escape(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escape(title)}</h1>
${parts.join('\n')}
</main>
<footer>${escape(source)}</footer>
</body>
</html>
`;
}
