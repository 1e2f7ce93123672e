import { words } from '../i18n/index.svelte';

/** Texts of the shared components. */
export const w = words({
  loading: { ko: '불러오는 중', en: 'Loading' },
  retry: { ko: '다시 시도', en: 'Try again' },
  retryIn: { ko: (s: number) => `${s}초 뒤에 다시 시도합니다.`, en: (s: number) => `Trying again in ${s} s.` },
  stale: {
    ko: (seq: number) => `seq ${seq}의 상태를 보고 있습니다.`,
    en: (seq: number) => `This is the state at seq ${seq}.`,
  },
  details: { ko: '자세히', en: 'Details' },
  copyReport: { ko: '보고용으로 복사', en: 'Copy for a report' },
  copied: { ko: '복사했습니다.', en: 'Copied.' },
  cannotCopy: {
    ko: '브라우저가 복사를 허락하지 않았습니다.',
    en: 'The browser did not allow copying.',
  },
  copyId: { ko: 'id 복사', en: 'Copy id' },
  field: { ko: '항목', en: 'Field' },
  hint: { ko: '도움말', en: 'Hint' },
  request: { ko: '요청', en: 'Request' },
  status: { ko: '상태 코드', en: 'Status' },
  notThen: { ko: '그때는 아직 없었을 수 있습니다.', en: 'It may not have existed at that point.' },
  toNow: { ko: '지금 보기', en: 'Show now' },
  building: { ko: '그 시점의 상태를 만드는 중', en: 'Building the state at that point' },
  buildingAt: {
    ko: (done: string, total: string) => `이벤트 ${total}개 중 ${done}개`,
    en: (done: string, total: string) => `${done} of ${total} events`,
  },
  before: { ko: (n: number) => `앞에 ${n}개가 기다립니다.`, en: (n: number) => `${n} are waiting before it.` },
  cancel: { ko: '그만두기', en: 'Cancel' },
  close: { ko: '닫기', en: 'Close' },
  hidden: { ko: '보이지 않는 글자', en: 'invisible character' },
  filtered: { ko: '이 조건에 맞는 것이 없습니다.', en: 'Nothing matches these filters.' },
  removeFilter: { ko: '조건 빼기', en: 'Remove filter' },
  removeAll: { ko: '모두 빼기', en: 'Remove all' },
  copyJson: { ko: 'JSON 복사', en: 'Copy JSON' },
  value: { ko: '값', en: 'value' },
  members: { ko: (n: number) => `${n}개`, en: (n: number) => (n === 1 ? '1 member' : `${n} members`) },
  moreLines: { ko: (n: number) => `${n}줄 더`, en: (n: number) => `${n} more lines` },
  steps: {
    ko: (done: number, total: number) => `${total}단계 중 ${done}단계 끝남`,
    en: (done: number, total: number) => `${done} of ${total} steps done`,
  },
  tell: { ko: (name: string) => `${name}에게 말하기`, en: (name: string) => `Message ${name}` },
  tellShort: { ko: '말하기', en: 'Message' },
  ago: { ko: (age: string) => `${age} 전`, en: (age: string) => `${age} ago` },
});
