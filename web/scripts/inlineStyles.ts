import type { Plugin } from 'vite';

/**
 * Takes inline styles out of components of libraries, which the page's content security policy refuses: `display: contents` becomes the class
 * contents of base.css. Fails on others.
 */
export function inlineStyles(): Plugin {
  return {
    name: 'inline-styles',
    enforce: 'pre',
    transform(code, id) {
      if (!/\/node_modules\/.*\.svelte$/.test(id)) return null;
      const text = code.replaceAll(' style="display: contents;"', ' class="contents"');
      const left = /<[a-z][^<>]*\sstyle="[^{][^"]*"/.exec(text);
      if (left) this.error(`${id} has an inline style, which the page's policy refuses: ${left[0]}`);
      return text === code ? null : { code: text, map: null };
    },
  };
}
