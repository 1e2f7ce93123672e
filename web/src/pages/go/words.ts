import { words } from '$lib/i18n/index.svelte';

export const w = words({
  title: { ko: '찾아가기', en: 'Go to' },
  looking: { ko: '찾는 중입니다.', en: 'Looking it up.' },
  nothing: { ko: '이 id를 찾을 수 없습니다.', en: 'Nothing has this id.' },
  tried: { ko: '찾아본 곳', en: 'What was tried' },
  none: { ko: '없음', en: 'not there' },
  failed: { ko: '알 수 없음', en: 'unknown' },
  task: { ko: '작업', en: 'task' },
  session: { ko: '작업 세션', en: 'work session' },
  trace: { ko: '대화, 전달, 실행, 이벤트', en: 'conversation, delivery, run, event' },
  event: { ko: '이벤트', en: 'event' },
  work: { ko: '대기 작업', en: 'queued work' },
  agent: { ko: '에이전트', en: 'agent' },
  collaboration: { ko: '협업 요청', en: 'request' },
  message: { ko: '채널의 메시지', en: 'message in a channel' },
  search: { ko: '검색에서 찾기', en: 'Search for it' },
  hint: {
    ko: '작업(task_…), 작업 세션(ws_…), 대화와 실행의 id, seq 번호, 대기 작업, Discord, Telegram, Slack 메시지의 id와 링크를 찾아갑니다.',
    en: 'Tasks (task_…), work sessions (ws_…), ids of conversations and runs, seq numbers, queued work, ids of messages in Discord, Telegram and Slack and links to them are found.',
  },
});
