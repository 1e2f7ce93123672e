import { expect, it } from 'vitest';
import { sessionPlace } from './sessionPlace';

it('finds the agent of a session', () => {
  expect(sessionPlace('agent:eden:main')).toEqual({ agent: 'eden', rest: 'main', main: true });
  expect(sessionPlace('agent:eden:discord:channel:7')).toEqual({
    agent: 'eden',
    rest: 'discord:channel:7',
    main: false,
  });
  for (const other of ['', 'main', 'agent:eden', 'agent::main', 'eden:main']) expect(sessionPlace(other)).toBeNull();
});
