import { describe, expect, it } from 'vitest';
import { parsePlace } from '../url';
import { addressOf, filtersOf, kept, mostAddress, mostName, nameOf, opened } from './view';

const saved = (relative: string) => addressOf(parsePlace(relative));

describe('a view', () => {
  it('keeps the filters of its page and the point in time', () => {
    for (const address of [
      'c',
      'c?outcome=blocked&agent=eden',
      'c?cat=all&q=%EB%B0%B0%ED%8F%AC+%26+x&order=category',
      'tasks?view=list&status=blocked',
      'agents?sort=name',
      'owed?to=seum&from=eden&kind=flow&open=false',
      'log?type=a2a.send&type=a2a.complete&scope=all',
      'search?q=webhook&when=7d&as_of=300',
    ]) {
      expect(saved(address), address).toBe(address);
      expect(addressOf({ path: [opened(address)!.page], query: opened(address)!.query, hash: '' })).toBe(address);
    }
  });

  it('keeps neither open items nor unknown keys, among them tokens', () => {
    expect(saved('c/ws_1/conv:x?agent=eden&tab=raw&utm=1#e431')).toBe('c?agent=eden');
    expect(saved('log?at=200&agent=eden')).toBe('log?agent=eden');
    expect(saved('tasks?token=secret&q=x&access_token=secret#code=secret')).toBe('tasks?q=x');
    expect(saved('log?as_of=1e3&as_of=5')).toBe('log');
    expect(opened('tasks?token=secret&q=x')).toEqual({ page: 'tasks', query: { q: 'x' } });
  });

  it('is of a page that has filters, with filters that are not too long', () => {
    for (const place of ['', 'sql?sql=SELECT+1', 'settings', 'inbox', 'constructor', '__proto__'])
      expect(saved(place), place).toBeNull();
    expect(saved(`c?q=${'x'.repeat(mostAddress)}`)).toBeNull();
    expect(filtersOf(parsePlace('c?__proto__=x&constructor=y'))).toEqual({ page: 'c', query: {} });
  });

  it('opens nothing outside of the page', () => {
    for (const address of [
      '',
      '/',
      '/c',
      '//evil.test/c',
      '//c?q=x',
      '\\\\evil.test',
      'https://evil.test/ui/c',
      'https:c',
      'javascript:alert(1)',
      'JavaScript:alert(1)//c?',
      'data:text/html,x',
      ' c',
      'c\n',
      'c\t?q=x',
      '\u0000c',
      './c',
      '../c',
      'c/../../api/status',
      'c/ws_1',
      'c/',
      '%63',
      'c#code=x',
      'c@evil.test',
      'C',
      'sql?sql=DELETE+FROM+events',
      'session',
      'constructor',
      'c?q=a b',
      'c?q=\u202e',
      `c?q=${'x'.repeat(mostAddress)}`,
    ])
      expect(opened(address), JSON.stringify(address)).toBeNull();
  });
});

describe('what was stored', () => {
  it('is read without what is no view', () => {
    const good = { name: '막힌 대화', address: 'c?outcome=blocked' };
    expect(
      kept([
        null,
        1,
        'c',
        {},
        { name: 1, address: 'c' },
        { name: 'x', address: 2 },
        { name: '', address: 'c' },
        { name: ' x', address: 'c' },
        { name: 'x'.repeat(mostName + 1), address: 'c' },
        { name: 'evil', address: '//evil.test' },
        { ...good, more: 'x' },
        { name: good.name, address: 'log' },
      ]),
    ).toEqual([good]);
    for (const value of [null, {}, 'x', { length: 1 }]) expect(kept(value)).toEqual([]);
  });

  it('has names in one form and in one line', () => {
    expect(nameOf('  막힌\n\t대화 ')).toBe('막힌 대화');
    expect(nameOf('막힌'.normalize('NFD'))).toBe('막힌');
    expect(nameOf(' \u0000 ')).toBe('');
  });
});
