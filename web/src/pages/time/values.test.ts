import { describe, expect, it } from 'vitest';
import { side } from './values';

const column = (name: string, before: unknown, after: unknown) => ({ name, before, after });

describe('values of a difference', () => {
  it('say the reason of a conversation in our words where its code is known', () => {
    const blocked = {
      table: 'threads',
      columns: [
        column('outcome', 'active', 'blocked'),
        column('reason', '', 'LLM request rejected: context too long'),
        column('reason_code', '', 'context_too_long'),
      ],
    };
    expect(side(blocked, 'reason', 'after')).toBe('모델이 거절: 컨텍스트가 너무 깁니다.');
    expect(side(blocked, 'reason', 'before')).toBe('');
    expect(side(blocked, 'reason_code', 'after')).toBe('모델이 거절: 컨텍스트가 너무 깁니다.');
    expect(side(blocked, 'outcome', 'after')).toBe('막힘');
  });

  it('leave words that no code explains as they are', () => {
    const other = { table: 'threads', columns: [column('reason', '', 'x y'), column('reason_code', '', 'other')] };
    expect(side(other, 'reason', 'after')).toBe('x y');
    expect(side({ table: 'threads', columns: [column('reason', 'a', 'b')] }, 'reason', 'after')).toBe('b');
    const task = { table: 'tasks', columns: [column('blocked_reason', '', '키 대기')] };
    expect(side(task, 'blocked_reason', 'after')).toBe('키 대기');
  });

  it('say why a run failed, and how far queued work is', () => {
    const run = { table: 'runs', columns: [column('state', 'running', 'error'), column('error_class', '', 'auth')] };
    expect(side(run, 'error_class', 'after')).toBe('모델 제공자가 인증을 거절했습니다.');
    expect(side({ table: 'work', columns: [column('state', 'waiting', 'dead')] }, 'state', 'after')).toBe('포기됨');
  });
});
