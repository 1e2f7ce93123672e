import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const source = join(import.meta.dirname, '..');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /\.(svelte|ts|css)$/.test(file) && !/\.test\.ts$|lib\/api\/types\.ts$/.test(file));
const textOf = (file: string) => readFileSync(join(source, file), 'utf8');

/** Text without comments, so that examples in them are allowed. */
const codeOf = (file: string) =>
  textOf(file)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^\s*\/\/.*$/gm, '');

/** Lines of the files that match, as `file: line`. */
function offenders(
  pattern: RegExp,
  where: (file: string) => boolean = () => true,
  part = (code: string) => code,
): string[] {
  return files.filter(where).flatMap((file) =>
    part(codeOf(file))
      .split('\n')
      .filter((line) => pattern.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
}

const isSvelte = (file: string) => file.endsWith('.svelte');
const styled = (file: string) => /\.(svelte|css)$/.test(file) && file !== 'app/tokens.css';
const styles = (code: string) =>
  code.includes('<style') ? code.slice(code.indexOf('<style')) : /^[\s\S]*<\w/.test(code) ? '' : code;
const markup = (code: string) => code.replace(/<script[\s\S]*?<\/script>/g, '').replace(/<style[\s\S]*<\/style>/g, '');

describe('style', () => {
  it('has colours and pixel sizes in tokens.css only', () => {
    expect(offenders(/#[0-9a-f]{3,8}\b|\b(rgb|hsl|oklab|lab|lch|color)a?\(|\boklch\((?!var)/i, styled, styles)).toEqual(
      [],
    );
    // Media queries cannot read custom properties; the one width is that of a phone.
    expect(offenders(/\d(px|pt|rem)\b/, styled, (code) => styles(code).replaceAll('(max-width: 899px)', ''))).toEqual(
      [],
    );
  });
  it('has colours by token, not by name', () => {
    expect(offenders(/:\s*(white|black|red|green|blue|gray|grey|orange|yellow)\b/, styled, styles)).toEqual([]);
  });
});

describe('content security policy', () => {
  it('has no inline styles, handlers or scripts', () => {
    expect(offenders(/\sstyle=["'{]/, isSvelte, markup)).toEqual([]);
    expect(offenders(/\son\w+="/, isSvelte, markup)).toEqual([]);
    expect(offenders(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(|srcdoc/)).toEqual(
      [],
    );
  });
  it('puts HTML in one place only', () => {
    expect(offenders(/\{@html/).map((line) => line.split(':')[0])).toEqual(['lib/md/Markdown.svelte']);
  });
  it('has no references that a base address breaks', () => {
    expect(offenders(/url\(["']?#|href="#[a-z]+-/, (file) => /\.(svelte|css)$/.test(file))).toEqual([]);
  });
  it('loads nothing from elsewhere', () => {
    expect(offenders(/(src|href)=["']https?:|fetch\(["'`]https?:|@import ["']https?:/)).toEqual([]);
  });
});

describe('truth', () => {
  const pages = (file: string) => file.startsWith('pages/') || file.startsWith('app/');
  it('is the server: no page finds a state in a text', () => {
    const text = String.raw`(displayText|reason|title|text|summary|message|description|preview)`;
    const inText = new RegExp(String.raw`\b${text}\??\.(includes|match|startsWith|endsWith|indexOf|search|test)\(`);
    expect(offenders(inText, pages)).toEqual([]);
    expect(offenders(new RegExp(String.raw`\.${text} ?===? ?['"]`), pages)).toEqual([]);
    expect(offenders(/\[outcome\] |<@[!&]?\d|\\\[outcome/)).toEqual([]);
  });
  it('has no page that imports another', () => {
    const others = files.filter((file) => {
      const page = /^pages\/(\w+)\//.exec(file)?.[1];
      return (
        page !== undefined &&
        [...codeOf(file).matchAll(/pages\/(\w+)|from '\.\.\/(\w+)\//g)].some((found) => (found[1] ?? found[2]) !== page)
      );
    });
    expect(others).toEqual([]);
  });
  it('sends requests through the client and the session only', () => {
    const senders = new Set(
      offenders(/\bfetch\(|new WebSocket\(|XMLHttpRequest|sendBeacon/).map((line) => line.split(':')[0]),
    );
    expect([...senders].sort()).toEqual([
      'lib/api/client.ts',
      'lib/chat/gateway.svelte.ts',
      'lib/live/live.svelte.ts',
      'lib/session.svelte.ts',
    ]);
  });
});

describe('words', () => {
  it('are in dictionaries: no Korean outside of ko texts', () => {
    const hangul = /[가-힣]/;
    const dictionaries = (file: string) =>
      /words\.ts$|i18n\/|choseong\.ts$|md\/Markdown\.svelte$|app\/routes\.ts$/.test(file);
    expect(offenders(hangul, (file) => !dictionaries(file)).filter((line) => !line.includes('한국어'))).toEqual([]);
  });
  it('have no exclamation marks', () => {
    expect(offenders(/(ko|en): '[^']*!'/)).toEqual([]);
  });
});
