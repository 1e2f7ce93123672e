import DOMPurify from 'dompurify';
import { Marked, type Tokens } from 'marked';
import { visible } from '../text';

/** Texts that are longer are shown as plain text. */
export const longestMarkdown = 20_000;

const tags = 'p br strong em del code pre blockquote ul ol li h4 h5 table thead tbody tr th td a hr input'.split(' ');
const attributes = ['href', 'title', 'start', 'align', 'type', 'checked', 'disabled', 'rel', 'target'];

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text: string) => text.replace(/[&<>"']/g, (sign) => escapes[sign]!);

/** Label of an image's link: loading the image itself would tell its server that the text is read. */
export type ImageLabel = (host: string) => string;

const marked = (imageLabel: ImageLabel) =>
  new Marked({
    gfm: true,
    breaks: true,
    async: false,
    renderer: {
      image({ href, text }: Tokens.Image) {
        return `<a href="${escape(href)}">${escape(text || imageLabel(hostOf(href)))}</a>`;
      },
      // Headings of a text never compete with those of the page.
      heading({ tokens, depth }: Tokens.Heading) {
        const name = depth <= 3 ? 'h4' : 'h5';
        return `<${name}>${this.parser.parseInline(tokens)}</${name}>\n`;
      },
      // HTML in a text is text.
      html({ text }: Tokens.HTML | Tokens.Tag) {
        return escape(text);
      },
    },
  });

/** What a text names as an address, as it reads: the host of a link, with whatever stands before it and with a port. */
const address =
  /(?:\p{L}[\p{L}\p{N}+.-]*:)?(?:\/\/)?((?:[^\s/?#@]*@)?[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+\.?(?::\d+)?)(?:[/?#]\S*)?/gu;

/** Whether a text names an address whose host is another one than that of its link. */
function misleads(text: string, host: string): boolean {
  // Letters that only look like a dot or like those of a name are what they look like; what cannot be seen is not there.
  const read = visible(text).normalize('NFKC').replaceAll('。', '.');
  return [...read.matchAll(address)].some(([, named]) => hostOf(`http://${named}`) !== host || named!.includes('@'));
}

function hostOf(href: string): string {
  try {
    return new URL(href).host;
  } catch {
    return '';
  }
}

let purify: ReturnType<typeof DOMPurify> | undefined;

/** The sanitiser, with a hook that makes links safe: new tab, no opener, and the host beside a text that looks like another address. */
function sanitiser() {
  if (purify) return purify;
  purify = DOMPurify(window);
  purify.addHook('afterSanitizeAttributes', (node) => {
    const name = node.nodeName.toLowerCase();
    if (name === 'a') {
      const href = node.getAttribute('href');
      if (href === null) {
        node.removeAttribute('target');
        return;
      }
      node.setAttribute('rel', 'noopener noreferrer nofollow');
      node.setAttribute('target', '_blank');
      const host = hostOf(href);
      if (host && misleads(node.textContent ?? '', host)) {
        node.appendChild(node.ownerDocument.createTextNode(` (${host})`));
      }
    }
    if (name === 'input') {
      if (node.getAttribute('type') !== 'checkbox') node.remove();
      else node.setAttribute('disabled', '');
    }
  });
  return purify;
}

const kept = new Map<string, TrustedHTML | string>();
const capacity = 2000;

/** Markdown of an agent as safe HTML: a TrustedHTML where the browser has it. Rendered texts are kept, the least recently used go first. */
export function render(text: string, imageLabel: ImageLabel): TrustedHTML | string {
  const key = `${imageLabel('')} ${text}`;
  const found = kept.get(key);
  if (found !== undefined) {
    kept.delete(key);
    kept.set(key, found);
    return found;
  }
  const html = marked(imageLabel).parse(text) as string;
  const safe = sanitiser().sanitize(html, {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: attributes,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    // Only href is an address; the other values are checked as addresses unless they are named.
    ADD_URI_SAFE_ATTR: attributes.filter((name) => name !== 'href'),
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_TRUSTED_TYPE: 'trustedTypes' in window,
  } as never) as unknown as TrustedHTML | string;
  kept.set(key, safe);
  if (kept.size > capacity) kept.delete(kept.keys().next().value!);
  return safe;
}
