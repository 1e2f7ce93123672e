import { words } from '../i18n/index.svelte';

export const w = words({
  title: { ko: '이 작업 바꾸기', en: 'Change this task' },
  cancel: { ko: '작업 취소', en: 'Cancel task' },
  unblock: { ko: '막힘 풀기', en: 'Unblock' },
  resume: { ko: '이어 하게 하기', en: 'Resume' },
  reassign: { ko: '다른 에이전트에게', en: 'Reassign' },
  priority: { ko: '우선순위 바꾸기', en: 'Change priority' },
  cancelText: {
    ko: '에이전트에게 알리고, 이 작업을 기다리는 작업은 시작하지 못하게 됩니다. 되돌릴 수 없습니다.',
    en: 'The agent is told. Tasks that wait for this one can no longer start. This cannot be undone.',
  },
  rejectText: {
    ko: '승인을 기다리는 작업이라 거절로 남습니다. 이유가 필요합니다.',
    en: 'It waits for approval, so this rejects it. A reason is required.',
  },
  unblockText: {
    ko: '작업이 다시 진행 중이 되고, 에이전트에게 이어서 하라고 알립니다.',
    en: 'The task is in progress again, and its agent is told to go on.',
  },
  reassignText: {
    ko: '지금 작업은 취소되고, 같은 내용의 작업이 고른 에이전트의 백로그에 생깁니다. 끝나지 않은 단계도 넘겨 줍니다.',
    en: 'This task is cancelled, and the chosen agent gets one with the same content in its backlog, with the steps that are left.',
  },
  reason: { ko: '이유', en: 'Reason' },
  changed: { ko: '무엇이 바뀌었나', en: 'What has changed' },
  to: { ko: '맡을 에이전트', en: 'Agent' },
  choose: { ko: '고르세요', en: 'Choose' },
  keep: { ko: '그대로 두기', en: 'Keep' },
  done: { ko: '바꿨습니다.', en: 'Changed.' },
  same: { ko: '이미 그렇게 되어 있습니다.', en: 'It was so already.' },
  moved: { ko: '새 작업 보기', en: 'Open the new task' },
  over: { ko: '끝난 작업입니다.', en: 'The task has ended.' },
  notBlocked: { ko: '막히거나 멈춘 작업이 아닙니다.', en: 'The task is neither blocked nor interrupted.' },
  waits: { ko: '먼저 승인하거나 거절하세요.', en: 'Approve or reject it first.' },
  noOther: { ko: '다른 에이전트가 없습니다.', en: 'There is no other agent.' },
  notInFiles: {
    ko: '파일로만 아는 작업입니다. 다른 게이트웨이가 정합니다.',
    en: 'It is only known from a file. Another gateway decides.',
  },
});
