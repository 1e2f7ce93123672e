import { dictionary, words, type Word } from '$lib/i18n/index.svelte';

export const migrationWords = words({
  title: { ko: 'OpenClaw에서 가져온 것', en: 'Taken over from OpenClaw' },
  none: {
    ko: '아직 가져온 것이 없습니다. 서버를 멈추고 이 명령으로 가져옵니다. 먼저 --dry-run 을 붙이면 계획만 보입니다.',
    en: 'Nothing was taken over yet. Stop the server and run this command; with --dry-run it only shows a plan.',
  },
  done: { ko: '모두 가져옴', en: 'everything taken over' },
  part: { ko: '일부가 남음', en: 'something was left' },
  open: { ko: '끝나지 않음', en: 'not finished' },
  openNote: {
    ko: '가져오는 중이거나 중간에 멈췄습니다. 멈췄다면 서버를 멈추고 같은 명령을 다시 쓰면 이어집니다.',
    en: 'It runs, or was interrupted. If it was, stop the server and repeat the command: it goes on where it was.',
  },
  lastReport: { ko: '아래는 그전의 보고입니다.', en: 'Below is the report of the one before.' },
  only: { ko: '이것만', en: 'only' },
  again: {
    ko: '서버를 멈추고 같은 명령을 다시 쓰면 그 뒤에 생긴 것만 더해집니다.',
    en: 'With the server stopped, the same command adds what came since.',
  },
  what: { ko: '종류', en: 'Part' },
  found: { ko: '찾음', en: 'Found' },
  here: { ko: '여기에 있음', en: 'Here' },
  left: { ko: '남음', en: 'Left' },
  leftTitle: { ko: '가져오지 않은 것과 이유', en: 'What was left, and why' },
  note: { ko: '참고', en: 'note' },
  more: { ko: (n: string) => `${n}개가 더 있습니다.`, en: (n: string) => `There are ${n} more.` },
  showAll: { ko: '모두 보기', en: 'Show all' },
});

/** The parts of a state directory. */
export const migrationParts: Record<string, Word> = dictionary({
  coordination: { ko: '협업 로그의 줄', en: 'lines of coordination logs' },
  sessions: { ko: '대화 기록 파일', en: 'transcripts' },
  messages: { ko: '메시지', en: 'messages' },
  settings: { ko: '세션 설정', en: 'settings of sessions' },
  cron: { ko: '예약 작업', en: 'scheduled jobs' },
  'cron runs': { ko: '예약 실행', en: 'runs of scheduled jobs' },
  people: { ko: '연결된 사람', en: 'people who were paired' },
});
