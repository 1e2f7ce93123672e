import { dictionary, words, type Word } from '$lib/i18n/index.svelte';
import type { Doubt } from './filter';

export const w = words({
  title: { ko: '로그', en: 'Log' },
  events: { ko: '이벤트', en: 'Events' },
  filters: { ko: '조건', en: 'Filters' },
  type: { ko: '종류', en: 'Type' },
  typeAll: { ko: '모든 종류', en: 'Any type' },
  role: { ko: '역할', en: 'Role' },
  roleAll: { ko: '모든 역할', en: 'Any role' },
  agent: { ko: '에이전트', en: 'Agent' },
  agentAll: { ko: '모든 에이전트', en: 'Any agent' },
  problems: { ko: '문제만', en: 'Problems' },
  problemsHow: { ko: '실패를 알리는 이벤트만', en: 'Only events that report a failure' },
  internal: { ko: '내부도', en: 'Internal' },
  internalHow: {
    ko: '실행, 큐, 파일의 내부 기록까지',
    en: 'Also internal records of runs, queues and files',
  },
  session: { ko: '작업 세션', en: 'Work session' },
  untitledTask: { ko: '제목 없는 작업', en: 'a task without a title' },
  untitledSession: { ko: '제목 없는 작업 세션', en: 'a work session without a title' },
  not: { ko: (what: string) => `${what} 제외`, en: (what: string) => `not ${what}` },
  remove: { ko: (what: string) => `조건 '${what}' 빼기`, en: (what: string) => `Remove the filter ${what}` },
  only: { ko: (what: string) => `${what}만 보기`, en: (what: string) => `Show only ${what}` },
  hide: { ko: (what: string) => `${what} 빼고 보기`, en: (what: string) => `Hide ${what}` },
  clear: { ko: '조건 모두 빼기', en: 'Remove all filters' },
  none: { ko: '조건에 맞는 이벤트가 없습니다.', en: 'No event matches.' },
  nothing: { ko: '아직 이벤트가 없습니다.', en: 'There are no events yet.' },
  pause: { ko: '멈춤', en: 'Pause' },
  resume: { ko: '이어 보기', en: 'Go on' },
  paused: { ko: '멈춰 있습니다', en: 'Paused' },
  rate: { ko: (n: string) => `초당 ${n}개`, en: (n: string) => `${n} per second` },
  fresh: {
    ko: (n: string) => `새 이벤트 ${n}개 ↓`,
    en: (n: string) => `${n} new ↓`,
  },
  toEnd: { ko: '최신 이벤트로 ↓', en: 'To the newest ↓' },
  notLoaded: { ko: '더 읽지 못했습니다. 다시 시도', en: 'Could not read more. Try again' },
  position: { ko: '로그에서의 위치', en: 'Position in the log' },
  positionHow: { ko: '누르면 그때로 갑니다', en: 'Click to go there' },
  positionText: {
    ko: (time: string, n: string, problems: string) => `${time}, 이벤트 ${n}개, 문제 ${problems}개`,
    en: (time: string, n: string, problems: string) => `${time}, ${n} events, ${problems} problems`,
  },
  allCounted: { ko: '모든 이벤트', en: 'All events' },
  withProblems: { ko: '문제', en: 'problems' },
  export: { ko: '내보내기', en: 'Export' },
  exportHow: {
    ko: '조건에 맞는 이벤트를 NDJSON으로, 최신 100,000개까지',
    en: 'Matching events as NDJSON, up to the newest 100,000',
  },
  exporting: { ko: (n: string) => `${n}개 읽음 · 멈추기`, en: (n: string) => `${n} read · stop` },
  exported: { ko: (n: string) => `이벤트 ${n}개를 내보냈습니다.`, en: (n: string) => `${n} events exported.` },
  exportedSome: {
    ko: (n: string) => `최신 이벤트 ${n}개만 내보냈습니다. 더 있습니다.`,
    en: (n: string) => `Only the newest ${n} events were exported. There are more.`,
  },
  notExported: { ko: '내보내지 못했습니다.', en: 'Could not export.' },
  problem: { ko: '문제', en: 'Problem' },

  event: { ko: '이벤트', en: 'Event' },
  close: { ko: '닫기', en: 'Close' },
  previous: { ko: '이전 이벤트', en: 'Previous event' },
  next: { ko: '다음 이벤트', en: 'Next event' },
  previousProblem: { ko: '이전 문제', en: 'Previous problem' },
  nextProblem: { ko: '다음 문제', en: 'Next problem' },
  noProblem: { ko: '그쪽에는 문제가 더 없습니다.', en: 'There are no more problems that way.' },
  time: { ko: '시각', en: 'Time' },
  stored: { ko: '기록', en: 'Stored' },
  stream: { ko: '스트림', en: 'Stream' },
  who: { ko: '누가', en: 'Who' },
  text: { ko: '내용', en: 'Text' },
  failure: { ko: '실패', en: 'Failure' },
  task: { ko: '작업', en: 'Task' },
  causes: { ko: '원인', en: 'Causes' },
  effects: { ko: '결과', en: 'Effects' },
  noCauses: { ko: '알려진 원인이 없습니다.', en: 'No cause is known.' },
  noEffects: { ko: '알려진 결과가 없습니다.', en: 'No effect is known.' },
  raw: { ko: '원본', en: 'Raw' },
  flow: { ko: '흐름', en: 'Flow' },
  why: { ko: '왜?', en: 'Why' },
  then: { ko: '그때 보기', en: 'As of then' },
  shownIn: { ko: '나오는 곳', en: 'Where it shows' },
  copyLink: { ko: '링크 복사', en: 'Copy link' },
  copyId: { ko: 'ID 복사', en: 'Copy id' },
  copied: { ko: '복사했습니다.', en: 'Copied.' },
  redacted: { ko: '내용이 지워졌습니다.', en: 'Its content was redacted.' },
  filterBy: { ko: '이것으로 거르기', en: 'Filter by it' },
});

/** Areas of what happens. */
export const areaWords = words({
  messages: { ko: '에이전트 사이의 메시지', en: 'Messages between agents' },
  deliveries: { ko: '전달', en: 'Deliveries' },
  requests: { ko: '협업 요청', en: 'Requests' },
  subAgents: { ko: '하위 에이전트', en: 'Sub-agents' },
  tasks: { ko: '작업', en: 'Tasks' },
  continuation: { ko: '이어가기', en: 'Continuation' },
  plans: { ko: '계획', en: 'Plans' },
  sessions: { ko: '세션', en: 'Sessions' },
  runs: { ko: '실행', en: 'Runs' },
  work: { ko: '대기 작업', en: 'Queued work' },
  channels: { ko: '대화 채널', en: 'Channels' },
  files: { ko: '파일과 설정', en: 'Files and configuration' },
  system: { ko: '시스템', en: 'System' },
});

/** What the classifier had to guess about events. */
export const doubts: Record<Doubt, Word> = {
  guessed_role: { ko: '짐작한 역할', en: 'guessed role' },
  fallback_category: { ko: '근거 없는 범주', en: 'category without evidence' },
  unknown_sender: { ko: '알 수 없는 보낸 쪽', en: 'unknown sender' },
  unknown_receiver: { ko: '알 수 없는 받는 쪽', en: 'unknown receiver' },
};

/** How a cause or an effect is known. */
export const hows: Record<string, Word> = dictionary({
  cause: { ko: '직접', en: 'directly' },
  stream: { ko: '같은 스트림', en: 'same stream' },
  job: { ko: '같은 전달', en: 'same delivery' },
  run: { ko: '같은 실행', en: 'same run' },
  work: { ko: '같은 대기 작업', en: 'same queued work' },
});

export const roles: Record<string, Word> = dictionary({
  'conversation.main': { ko: '에이전트 사이의 대화', en: 'conversation of agents' },
  'delegation.subagent': { ko: '하위 에이전트에 맡김', en: 'delegation to a sub-agent' },
  'orchestration.task': { ko: '작업 진행', en: 'progress of a task' },
  'system.observability': { ko: '시스템', en: 'system' },
});
