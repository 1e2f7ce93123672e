import { words } from '../i18n/index.svelte';

export const w = words({
  planOf: {
    ko: (who: string, first: string) => `${who}의 계획${first && `: ${first}`}`,
    en: (who: string, first: string) => `Plan of ${who}${first && `: ${first}`}`,
  },
  taskOf: {
    ko: (who: string, first: string) => `${who}의 작업${first && `: ${first}`}`,
    en: (who: string, first: string) => `Task of ${who}${first && `: ${first}`}`,
  },
  callOf: {
    ko: (who: string, first: string) => `${who}의 도구 호출${first && `: ${first}`}`,
    en: (who: string, first: string) => `Call of ${who}${first && `: ${first}`}`,
  },
  always: { ko: '항상 승인', en: 'Always approve' },
  alwaysHint: {
    ko: '이 에이전트가 같은 인수로 이 도구를 부를 때 앞으로 묻지 않습니다.',
    en: 'Calls of this tool with the same arguments by this agent will not wait any more.',
  },
  approve: { ko: '승인', en: 'Approve' },
  reject: { ko: '거절', en: 'Reject' },
  giveTitle: { ko: (title: string) => `답하기: ${title}`, en: (title: string) => `Answer: ${title}` },
  undo: { ko: '취소', en: 'Undo' },
  approving: { ko: (s: number) => `${s}초 뒤 승인`, en: (s: number) => `Approving in ${s} s` },
  rejecting: { ko: (s: number) => `${s}초 뒤 거절`, en: (s: number) => `Rejecting in ${s} s` },
  paused: { ko: '기다리는 중', en: 'On hold' },
  sending: { ko: '보내는 중', en: 'Sending' },
  rejectTitle: { ko: (title: string) => `거절: ${title}`, en: (title: string) => `Reject: ${title}` },
  rejectReason: { ko: '거절하는 이유', en: 'Reason' },
  rejectHint: {
    ko: '에이전트가 그대로 읽습니다. 무엇을 바꿔야 하는지 쓰세요.',
    en: 'The agent reads it as it is. Say what should be different.',
  },
  recent: { ko: '최근에 쓴 이유', en: 'Recent reasons' },
  signs: { ko: '결정하는 사람', en: 'Decided by' },
  approved: { ko: '승인했습니다.', en: 'Approved.' },
  rejected: { ko: '거절했습니다.', en: 'Rejected.' },
  already: {
    ko: (verb: string, by: string) => `${verb}됨 · ${by}`,
    en: (verb: string, by: string) => `${verb} by ${by}`,
  },
  approvedVerb: { ko: '승인', en: 'Approved' },
  rejectedVerb: { ko: '거절', en: 'Rejected' },
  unnamed: { ko: '이름 안 적음', en: 'a person who gave no name' },
  someone: { ko: '이름 모름', en: 'an unknown person' },
  gone: { ko: '더는 기다리지 않습니다.', en: 'It no longer waits.' },
  notInPast: { ko: '과거에서는 결정할 수 없습니다.', en: 'Nothing can be decided in the past.' },
  notAllowed: { ko: '이 세션은 읽기만 할 수 있습니다.', en: 'This session may only read.' },
  elsewhere: { ko: '다른 게이트웨이에서 결정합니다.', en: 'Another gateway decides this.' },
  offline: { ko: '서버와 연결이 끊겨 있습니다.', en: 'The server is not connected.' },
});
