import { describe, expect, it } from 'vitest';
import type { Event } from '$lib/live/client';
import { many, one, parsePlace } from '$lib/url';
import { apiQuery, filterIn, passes } from './filter';

const filterOf = (search: string) => {
  const { query } = parsePlace(`log?${search}`);
  return filterIn({ one: (key) => one(query, key), many: (key) => many(query, key) });
};
const event = (more: object) => ({ seq: 1, type: 'a2a.send', data: {}, ...more }) as unknown as Event;

it('asks the API for what the URL says', () => {
  const asked = apiQuery(
    filterOf('type=a2a.send,task.started&not=run.queued&agent=Eden&ws=ws:ws_1&scope=all&problems=1'),
  );
  expect(asked).toEqual({
    type: ['a2a.send', 'task.started'],
    notType: ['run.queued'],
    role: undefined,
    agent: 'eden',
    workSession: ['ws_1'],
    isError: true,
    scope: 'all',
  });
  expect(apiQuery(filterOf('type=run.queued')).scope).toBe('all');
  // The API combines a doubt with types, roles and the scope only.
  expect(apiQuery(filterOf('doubt=guessed_role&agent=eden&ws=w&problems=1&not=a2a.send'))).toMatchObject({
    doubt: 'guessed_role',
    notType: ['a2a.send'],
    agent: undefined,
    workSession: undefined,
    isError: undefined,
  });
  expect(Object.values(apiQuery(filterOf(''))).every((value) => value === undefined)).toBe(true);
});

describe('a pushed event passes', () => {
  it.each([
    ['', {}, true],
    ['', { internal: true }, false],
    ['scope=all', { internal: true }, true],
    ['type=task.started', {}, false],
    ['type=run.queued', { type: 'run.queued', internal: true }, true],
    ['not=a2a.send', {}, false],
    ['role=conversation.main', { eventRole: 'conversation.main' }, true],
    ['role=conversation.main', { eventRole: 'orchestration.task' }, false],
    ['agent=EDEN', { agentId: 'seum', from: 'seum', to: 'Eden' }, true],
    ['agent=eden', { agentId: 'seum' }, false],
    ['ws=ws_1', { data: { workSessionId: 'ws:ws_1' } }, true],
    ['ws=ws:ws_1', { data: { workSessionId: 'ws_1' } }, true],
    ['ws=ws_1', { data: { workSessionId: 'ws_2' } }, false],
    ['problems=1', { isError: true }, true],
    ['problems=1', {}, false],
  ])('%s %o: %s', (search, more, expected) => {
    expect(passes(event(more), filterOf(search))).toBe(expected);
  });
});
