import { expect, it } from 'vitest';
import { concerns } from './problemPlace';

it('concerns the agent that is stuck and both that talk, and no other', () => {
  const problem = { agentId: 'eden', fields: { from: 'eden', to: 'ieum' } } as Parameters<typeof concerns>[0];
  expect(['eden', 'ieum', 'seum'].map((agent) => concerns(problem, agent))).toEqual([true, true, false]);
  expect(concerns({ agentId: undefined, fields: {} } as Parameters<typeof concerns>[0], 'eden')).toBe(false);
});
