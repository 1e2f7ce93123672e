import { expect, it } from 'vitest';
import { locale } from '../i18n/index.svelte';
import { nameOf } from './name';

it('names a plan without a title by its agent and its first words', () => {
  locale.language = 'ko';
  expect(nameOf({ title: '배포 순서', agentId: 'eden', steps: ['a'] })).toBe('배포 순서');
  expect(nameOf({ title: ' ', agentId: 'eden', steps: ['스테이징에 배포\n둘째 줄', 'b'] })).toBe(
    'eden의 계획: 스테이징에 배포',
  );
  expect(nameOf({ agentId: 'eden', steps: [{ content: 'x' }] })).toBe('eden의 계획');
  expect(nameOf({ kind: 'task', agentId: 'eden', description: '\n로그 정리' })).toBe('eden의 작업: 로그 정리');
  expect(nameOf({ kind: 'call', agentId: 'eden' })).toBe('eden의 도구 호출');
  expect(nameOf({ agentId: 'eden', steps: ['가'.repeat(200)] }).length).toBeLessThan(100);
  locale.language = 'en';
  expect(nameOf({ agentId: 'eden', steps: ['Deploy'] })).toBe('Plan of eden: Deploy');
});

it('names a call by its tool and its arguments in words', () => {
  const asked = { kind: 'call', agentId: 'eden' } as const;
  const call = { tool: 'write', arguments: { path: 'notes.md', lines: 3, text: '첫 줄\n둘째' } };
  expect(nameOf({ ...asked, title: 'write {"path":"notes.md",', call })).toBe(
    'write: path notes.md, lines 3, text 첫 줄 둘째',
  );
  expect(nameOf({ ...asked, title: 'agents_list {}', call: { tool: 'agents_list', arguments: {} } })).toBe(
    'agents_list',
  );
  expect(nameOf({ ...asked, title: 'exec ls', call: { tool: 'exec', arguments: { command: 'ls' } } })).toBe('exec ls');
  expect(nameOf({ ...asked, title: 'book asks: Who?', call: { ...call, tool: 'book', input: {} } })).toBe(
    'book asks: Who?',
  );
});
