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

  it('say states of tasks, steps, plans and deliveries in our words', () => {
    const told = (table: string, name: string, after: string) =>
      side({ table, columns: [column(name, '', after)] }, name, 'after');
    expect(told('session_tasks', 'state', 'completed')).toBe('완료');
    expect(told('plans', 'status', 'rejected')).toBe('거절됨');
    expect(told('a2a_jobs', 'outcome', 'no_reply')).toBe('답 없음');
    expect(told('collaborations', 'status', 'responded')).toBe('답함');
    const steps = [
      { id: 's1', content: '배포', status: 'done' },
      { id: 's2', content: '알림', status: 'unknown' },
    ];
    expect(told('task_work', 'steps', JSON.stringify(steps))).toBe('배포 (끝남), 알림 (unknown)');
    expect(told('task_work', 'steps', '[]')).toBe('');
    expect(told('task_work', 'steps', 'no JSON')).toBe('no JSON');
  });

  it('say why a run failed, and how far queued work is', () => {
    const run = { table: 'runs', columns: [column('state', 'running', 'error'), column('error_class', '', 'auth')] };
    expect(side(run, 'error_class', 'after')).toBe('모델 제공자가 인증을 거절했습니다.');
    expect(side({ table: 'work', columns: [column('state', 'waiting', 'dead')] }, 'state', 'after')).toBe('포기됨');
  });
});
