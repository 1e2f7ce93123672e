// @vitest-environment jsdom
import { describe, expect, it } from 'vitest';
import { render } from './render';

const label = (host: string) => `image ${host}`;

function shown(text: string): HTMLElement {
  const element = document.createElement('div');
  element.innerHTML = String(render(text, label));
  return element;
}

const hostile = [
  '<script>window.pwned = 1</script>',
  '<img src=x onerror="window.pwned = 1">',
  '<svg onload="window.pwned = 1"><a xlink:href="javascript:pwned()"><text>x</text></a></svg>',
  '<iframe src="javascript:window.pwned = 1"></iframe><iframe srcdoc="<script>pwned()</script>">',
  '[x](javascript:window.pwned=1)',
  '[x](java\tscript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](vbscript:msgbox)',
  '[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '[x](blob:https://evil.test/1)',
  '![x](javascript:alert(1))',
  '![" onerror="alert(1)](https://evil.test/a.png" onerror="alert(1))',
  '[a]: javascript:alert(1)\n\n[a]',
  '<a href="javascript:alert(1)">x</a>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>',
  '<form action="https://evil.test"><button formaction="javascript:alert(1)">log in</button><input name="token"></form>',
  '<input type="image" src=x onerror=alert(1)>',
  '<style>* { display: none }</style><link rel=stylesheet href="https://evil.test/x.css">',
  '<base href="https://evil.test/"><meta http-equiv="refresh" content="0;url=https://evil.test">',
  '<div style="position:fixed;inset:0" id="app" class="button primary">Approve</div>',
  '<object data="https://evil.test/x.swf"></object><embed src="https://evil.test/x">',
  '<template><script>alert(1)</script></template><noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '`<img src=x onerror=alert(1)>`',
  '```html\n<script>alert(1)</script>\n```',
  '```" onmouseover="alert(1)\nx\n```',
  '<https://evil.test/"onmouseover="alert(1)>',
  '| a |\n|---|\n| <img src=x onerror=alert(1)> |',
  '- [x] <input autofocus onfocus=alert(1)>',
  '# <details open ontoggle=alert(1)>x</details>',
  '<a id="session" name="body">x</a><p id=app>',
  '<!--<img src="--><img src=x onerror=alert(1)//">',
  '<x contenteditable onblur=alert(1)>x</x>',
  '\u202e<b onmouseover=alert(1)>',
];

describe('hostile texts', () => {
  const tags = new Set(
    'P BR STRONG EM DEL CODE PRE BLOCKQUOTE UL OL LI H4 H5 TABLE THEAD TBODY TR TH TD A HR INPUT'.split(' '),
  );
  const attributes = new Set(['href', 'title', 'start', 'align', 'type', 'checked', 'disabled', 'rel', 'target']);

  it.each(hostile)('give only what is allowed: %s', (text) => {
    for (const element of shown(text).querySelectorAll('*')) {
      expect(tags).toContain(element.tagName);
      for (const { name, value } of element.attributes) {
        expect(attributes).toContain(name);
        if (name === 'href') expect(value).toMatch(/^(https?|mailto):/i);
      }
      if (element.tagName === 'INPUT') {
        expect(element.getAttribute('type')).toBe('checkbox');
        expect(element.hasAttribute('disabled')).toBe(true);
      }
      if (element.tagName === 'A' && element.hasAttribute('href')) {
        expect(element.getAttribute('target')).toBe('_blank');
        expect(element.getAttribute('rel')).toBe('noopener noreferrer nofollow');
      }
    }
    expect((window as { pwned?: unknown }).pwned).toBeUndefined();
  });

  it('keep their text', () => {
    expect(shown('<script>alert(1)</script> 뒤').textContent).toContain('<script>alert(1)</script> 뒤');
    expect(shown('a <b>bold</b>').textContent?.trim()).toBe('a <b>bold</b>');
  });
});

describe('Markdown', () => {
  it('is rendered with line breaks, lists, tables and code', () => {
    const element = shown(
      '**굵게** *기울임* ~~취소~~ `code`\n다음 줄\n\n- a\n- [x] b\n\n| x | y |\n|---|--:|\n| 1 | 2 |\n\n```go\nx := 1\n```',
    );
    expect(element.querySelector('strong')?.textContent).toBe('굵게');
    expect(element.querySelector('em')?.textContent).toBe('기울임');
    expect(element.querySelector('del')?.textContent).toBe('취소');
    expect(element.querySelector('br')).not.toBeNull();
    expect(element.querySelectorAll('li')).toHaveLength(2);
    expect(element.querySelector('input')?.checked).toBe(true);
    expect(element.querySelector('td[align=right]')?.textContent).toBe('2');
    expect(element.querySelector('pre code')?.textContent).toBe('x := 1\n');
  });

  it('lowers headings, so that a text never looks like the page', () => {
    const element = shown('# one\n\n### three\n\n#### four\n\n###### six');
    expect([...element.children].map(({ tagName, textContent }) => `${tagName} ${textContent}`)).toEqual([
      'H4 one',
      'H4 three',
      'H5 four',
      'H5 six',
    ]);
  });

  it('shows images as links, because loading one says that it was read', () => {
    const element = shown('![](https://evil.test/a.png)');
    expect(element.querySelector('img')).toBeNull();
    expect(element.querySelector('a')?.textContent).toBe('image evil.test');
    expect(element.querySelector('a')?.getAttribute('href')).toBe('https://evil.test/a.png');
  });

  it('shows the host of a link whose text looks like another address', () => {
    expect(shown('[https://bank.test/login](https://evil.test/x)').textContent?.trim()).toBe(
      'https://bank.test/login (evil.test)',
    );
    expect(shown('[bank.test](https://evil.test/x)').textContent?.trim()).toBe('bank.test (evil.test)');
    expect(shown('https://good.test/x').textContent?.trim()).toBe('https://good.test/x');
    expect(shown('[설명](https://good.test/x)').textContent?.trim()).toBe('설명');
  });

  it.each([
    ['[https://bank.test/evil.test](https://evil.test/x)', true],
    ['[https://bank.test?evil.test](https://evil.test/x)', true],
    ['[https://bank.test#evil.test](https://evil.test/x)', true],
    ['[https://evil.test.bank.test](https://evil.test/x)', true],
    ['[https://notevil.test](https://evil.test/x)', true],
    ['[evil.test at https://bank.test](https://evil.test/x)', true],
    ['[로그인은 https://bank.test 에서](https://evil.test/x)', true],
    ['[여기(bank.test)](https://evil.test/x)', true],
    ['[\u200bbank.test](https://evil.test/x)', true],
    ['[ba\u200bnk.test](https://evil.test/x)', true],
    ['[bank\u3002test](https://evil.test/x)', true],
    ['[bank\uff0etest](https://evil.test/x)', true],
    ['[**bank**.test](https://evil.test/x)', true],
    ['[https:\\\\bank.test](https://evil.test/x)', true],
    ['[https://bank.test@evil.test](https://evil.test/x)', true],
    ['[bank.test:443](https://evil.test/x)', true],
    ['[BANK.TEST](https://evil.test/x)', true],
    ['[EVIL.test](https://evil.test/x)', false],
    ['[https://evil.test/a.png?b=c.d](https://evil.test/x)', false],
    ['[https://evil.test](https://evil.test/x)', false],
    ['[evil.test:8080/x](https://evil.test:8080/x)', false],
    ['[한글.test](https://xn--bj0bj06e.test/x)', false],
    ['[설명 1. 둘](https://evil.test/x)', false],
  ])('names the host where the text names another one: %s', (text, named) => {
    const [link] = shown(text).querySelectorAll('a');
    expect(link!.textContent!.endsWith(`(${new URL(link!.href).host})`)).toBe(named);
  });

  it('gives the same answer from its store', () => {
    expect(render('**a**', label)).toBe(render('**a**', label));
  });
});
