import type { Schemas } from '$lib/api/client';
import { dictionary, words, type Word } from '$lib/i18n/index.svelte';
import type { Link, Mark, Part } from './layout';

export const w = words({
  title: { ko: '흐름', en: 'Flow' },
  total: {
    ko: (all: string, ran: string) => `${all}, 그중 일한 시간 ${ran}`,
    en: (all: string, ran: string) => `${all}, of which agents worked ${ran}`,
  },
  open: { ko: (n: number) => `진행 중 ${n}개`, en: (n: number) => `${n} open` },
  late: { ko: (n: number) => `늦은 답 ${n}개`, en: (n: number) => (n === 1 ? '1 late answer' : `${n} late answers`) },
  cut: {
    ko: '너무 많아 일부만 읽었습니다. 여기 없는 것이 더 있습니다.',
    en: 'There is too much, so only a part was read. There is more than is shown here.',
  },
  empty: { ko: '여기에는 흐름이 없습니다.', en: 'There is nothing to draw.' },
  emptyText: {
    ko: '이 id에는 에이전트의 실행도, 주고받은 메시지도 없습니다.',
    en: 'This id has no runs of agents, and no messages between them.',
  },
  conversation: { ko: '대화 보기', en: 'See the conversation' },
  fold: { ko: '5분 넘는 빈 시간 접기', en: 'Fold idle times over 5 minutes' },
  asTable: { ko: '표로', en: 'As a table' },
  asLanes: { ko: '그림으로', en: 'As lanes' },
  zoomIn: { ko: '확대', en: 'Zoom in' },
  zoomOut: { ko: '축소', en: 'Zoom out' },
  zoomAll: { ko: '전체', en: 'Everything' },
  back: { ko: '앞 시간으로', en: 'Earlier' },
  forward: { ko: '뒤 시간으로', en: 'Later' },
  save: { ko: '내보내기', en: 'Export' },
  saveSvg: { ko: 'SVG', en: 'SVG' },
  savePng: { ko: 'PNG', en: 'PNG' },
  copyMermaid: { ko: 'Mermaid 복사', en: 'Copy Mermaid' },
  copied: { ko: '복사했습니다.', en: 'Copied.' },
  notSaved: { ko: '그림으로 만들지 못했습니다.', en: 'The picture could not be made.' },
  chart: {
    ko: '에이전트별 흐름 그림. 화살표 키로 원인과 결과, 위아래 줄로 이동합니다. 같은 내용의 표는 Shift-V로 봅니다.',
    en: 'Lanes of agents. The arrow keys lead to causes and effects, and to the lanes above and below. Shift-V shows the same as a table.',
  },
  minimap: { ko: '전체 시간에서 보이는 곳', en: 'What is in view of the whole time' },
  legend: { ko: '그림의 뜻', en: 'What the shapes mean' },
  selection: { ko: '선택', en: 'Selection' },
  nothingSelected: {
    ko: '막대를 누르거나 화살표 키로 고르면 자세한 내용이 여기에 나옵니다.',
    en: 'Click a bar, or choose one with the arrow keys, to see its details here.',
  },
  close: { ko: '선택 풀기', en: 'Clear the selection' },
  sub: { ko: '하위', en: 'sub-agent' },
  asked: { ko: '물음', en: 'Question' },
  answer: { ko: '답', en: 'Answer' },
  tokens: {
    ko: (read: string, written: string) => `토큰 ${read} → ${written}`,
    en: (read: string, written: string) => `${read} → ${written} tokens`,
  },
  calls: {
    ko: (models: number, tools: number) => `모델 ${models} · 도구 ${tools}`,
    en: (models: number, tools: number) => `${models} model, ${tools} tool calls`,
  },
  cause: { ko: '원인', en: 'Cause' },
  effects: { ko: '결과', en: 'Effects' },
  none: { ko: '없음', en: 'none' },
  unknownCause: { ko: '알 수 없음', en: 'unknown' },
  more: { ko: (n: number) => `${n}개 더`, en: (n: number) => `${n} more` },
  seeEvent: { ko: '이 때의 대화', en: 'Conversation at this point' },
  steps: { ko: '모델과 도구', en: 'Models and tools' },
  stepsCut: { ko: '더 있거나 가려진 것이 있습니다.', en: 'There are more, or some are redacted or archived.' },
  textCut: { ko: '뒷부분은 줄였습니다.', en: 'The rest is left out.' },
  redacted: { ko: '가려졌습니다.', en: 'It was redacted.' },
  failedCall: { ko: '오류', en: 'error' },
  retried: { ko: (attempt: number) => `${attempt}번째 시도`, en: (attempt: number) => `attempt ${attempt}` },
  lateBy: { ko: (time: string) => `${time} 늦음`, en: (time: string) => `${time} late` },
  messages: { ko: '메시지', en: 'Messages' },
  folded: { ko: (time: string) => `⋯ ${time}`, en: (time: string) => `⋯ ${time}` },
  what: { ko: '무엇', en: 'What' },
  who: { ko: '에이전트', en: 'Agent' },
  time: { ko: '시각', en: 'Time' },
  waited: { ko: '기다림', en: 'Waited' },
  ran: { ko: '실행', en: 'Ran' },
  state: { ko: '상태', en: 'State' },
  moreRows: { ko: (n: number) => `${n}줄 더 보기`, en: (n: number) => `Show ${n} more rows` },
  tableLabel: { ko: '흐름의 표', en: 'Flow as a table' },
  run: { ko: '실행', en: 'run' },
  flow: { ko: '전달', en: 'delivery' },
  spawn: { ko: '하위 에이전트 전달', en: 'delivery to a sub-agent' },
  thread: { ko: '대화', en: 'conversation' },
  message: { ko: '이벤트', en: 'event' },
  ongoing: { ko: '진행 중', en: 'open' },
  over: { ko: '끝남', en: 'over' },
});

/** What the shapes of the parts of a node mean. */
export const parts: Record<Part['kind'], Word> = dictionary({
  queue: { ko: '줄에서 기다림', en: 'waits in the queue' },
  permit: { ko: '허가를 기다림', en: 'waits for a permit' },
  backoff: { ko: '다시 시도하기 전에 쉼', en: 'pauses before a retry' },
  run: { ko: '실행', en: 'runs' },
  wait: { ko: '답을 기다림', en: 'waits for an answer' },
});

export const linkWords: Record<Link['kind'], Word> = dictionary({
  send: { ko: '보냄', en: 'sent' },
  reply: { ko: '답', en: 'reply' },
  spawn: { ko: '하위 에이전트를 시작시킴', en: 'started a sub-agent' },
});

export const markWords: Record<Mark['kind'], Word> = dictionary({
  start: { ko: '시작', en: 'start' },
  message: { ko: '메시지', en: 'message' },
  block: { ko: '막힘, 실패', en: 'blocked, failed' },
  late: { ko: '늦은 답', en: 'late answer' },
});

export const roles: Record<Schemas['TraceRole'], Word> = dictionary({
  answer: { ko: '답하기', en: 'answer' },
  retry: { ko: '다시 시도', en: 'retry' },
  turn: { ko: '주고받기', en: 'turn' },
  announce: { ko: '알릴 글 쓰기', en: 'announcement' },
  result: { ko: '결과 전하기', en: 'result' },
  repeat: { ko: '다시 시작 뒤 반복', en: 'repeated after a restart' },
});
