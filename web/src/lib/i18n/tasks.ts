import type { Tone } from '../ui/Badge.svelte';
import type { TaskState } from './codes';
import { dictionary, type Word } from './index.svelte';

/** Words and tones for the codes of tasks. */

/** Columns of the board, in the order in which a task goes through them. */
export const openStates = [
  'backlog',
  'pending',
  'pending_approval',
  'in_progress',
  'blocked',
  'interrupted',
] as const satisfies TaskState[];

export const taskTones: Record<TaskState, Tone> = {
  backlog: 'quiet',
  pending: 'quiet',
  pending_approval: 'waiting',
  in_progress: 'active',
  blocked: 'blocked',
  interrupted: 'waiting',
  completed: 'done',
  cancelled: 'quiet',
  abandoned: 'quiet',
  failed: 'blocked',
};

export type StepState = 'done' | 'in_progress' | 'pending' | 'skipped';
export const stepStates: Record<StepState, Word> = dictionary({
  done: { ko: '끝남', en: 'done' },
  in_progress: { ko: '하는 중', en: 'in progress' },
  pending: { ko: '남음', en: 'to do' },
  skipped: { ko: '건너뜀', en: 'skipped' },
});
export const stepTones: Record<StepState, Tone> = {
  done: 'done',
  in_progress: 'active',
  pending: 'quiet',
  skipped: 'quiet',
};

/** Values of escalationState. Tasks of old files may have others. */
export const escalations: Record<string, Word> = dictionary({
  requesting: { ko: '도움을 청하는 중', en: 'asking for help' },
  escalated: { ko: '사람에게 알렸음', en: 'reported to people' },
  failed: { ko: '도움을 청하지 못했음', en: 'could not ask for help' },
});

/** Values of estimatedEffort. */
export const efforts: Record<string, Word> = dictionary({
  small: { ko: '작은 일', en: 'small' },
  medium: { ko: '중간 일', en: 'medium' },
  large: { ko: '큰 일', en: 'large' },
});

export const planStates: Record<string, Word> = dictionary({
  pending: { ko: '승인 대기', en: 'waits for approval' },
  approved: { ko: '승인됨', en: 'approved' },
  rejected: { ko: '거절됨', en: 'rejected' },
});
export const planTones: Record<string, Tone> = { pending: 'waiting', approved: 'done', rejected: 'quiet' };
