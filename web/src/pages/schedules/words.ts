import type { Schemas } from '$lib/api/client';
import { dictionary, words, type Word } from '$lib/i18n/index.svelte';
import type { Tone } from '$lib/ui/Badge.svelte';

/** How a run of a job ended. */
export const ends: Record<Schemas['ScheduledEnd'], Word> = dictionary({
  ok: { ko: '끝남', en: 'done' },
  error: { ko: '실패', en: 'failed' },
  skipped: { ko: '건너뜀', en: 'skipped' },
});
export const endTones: Record<Schemas['ScheduledEnd'], Tone> = { ok: 'done', error: 'blocked', skipped: 'quiet' };

/** What became of the post of an answer. */
export const deliveries: Record<Schemas['ScheduledDelivery'], Word> = dictionary({
  delivered: { ko: '게시됨', en: 'posted' },
  'not-delivered': { ko: '게시 못 함', en: 'not posted' },
  unknown: { ko: '게시되었는지 모름', en: 'unknown whether posted' },
  'not-requested': { ko: '게시 안 함', en: 'no post wanted' },
});

export const missedRules: Record<'skip' | 'last' | 'all', Word> = dictionary({
  skip: { ko: '건너뜀', en: 'are skipped' },
  last: { ko: '마지막 것만 늦게 실행', en: 'the last one is made up for' },
  all: { ko: '모두 늦게 실행', en: 'all are made up for' },
});

export const w = words({
  title: { ko: '예약', en: 'Schedules' },
  back: { ko: '예약', en: 'Schedules' },
  filters: { ko: '거르기', en: 'Filters' },
  agent: { ko: '에이전트', en: 'Agent' },
  all: { ko: '모두', en: 'All' },
  defaultAgent: { ko: '기본 에이전트', en: 'default agent' },
  state: { ko: '상태', en: 'State' },
  enabled: { ko: '켜짐', en: 'Active' },
  paused: { ko: '멈춤', en: 'Paused' },
  running: { ko: '실행 중', en: 'Running' },
  name: { ko: '예약', en: 'Job' },
  when: { ko: '언제', en: 'When' },
  next: { ko: '다음 실행', en: 'Next run' },
  last: { ko: '마지막 실행', en: 'Last run' },
  actions: { ko: '할 수 있는 일', en: 'Actions' },
  never: { ko: '없음', en: 'none' },
  none: { ko: '예약이 없습니다.', en: 'There are no scheduled jobs.' },
  noneText: {
    ko: '정해진 때에 에이전트에게 일을 시킵니다. 서버에서 이렇게 만듭니다: openclawd cron add --name report --cron "0 9 * * 1-5" --message "일일 보고서를 써 주세요"',
    en: 'They give agents work at set times. Add one on the server: openclawd cron add --name report --cron "0 9 * * 1-5" --message "Write the daily report"',
  },
  off: {
    ko: '예약이 꺼져 있어 때가 되어도 시작하지 않습니다. 설정 cron.enabled를 true로 바꾸세요.',
    en: 'Schedules are off: nothing starts when it is due. Set cron.enabled to true.',
  },
  elsewhere: {
    ko: '다른 게이트웨이가 예약을 실행합니다. 여기서는 볼 수만 있습니다.',
    en: 'Another gateway runs the jobs. They can only be read here.',
  },
  pastNote: {
    ko: '그때의 예약입니다. 예약이 켜져 있었는지는 로그에 없습니다.',
    en: 'These are the jobs of that point. Whether schedules were on is not in the log.',
  },
  more: { ko: (n: string) => `${n}개 더 있습니다.`, en: (n: string) => `${n} more.` },
  showMore: { ko: '더 보기', en: 'Show more' },
  heartbeat: { ko: '하트비트', en: 'heartbeat' },
  every: { ko: (time: string) => `${time}마다`, en: (time: string) => `every ${time}` },
  at: { ko: (time: string) => `${time}에 한 번`, en: (time: string) => `once at ${time}` },
  zone: { ko: (zone: string) => `시간대 ${zone}`, en: (zone: string) => `zone ${zone}` },
  daily: { ko: '매일', en: 'daily' },
  weekdays: { ko: '평일', en: 'weekdays' },
  weekly: { ko: (day: string) => `매주 ${day}`, en: (day: string) => `every ${day}` },
  clock: { ko: (days: string, at: string) => `${days} ${at}`, en: (days: string, at: string) => `${days} at ${at}` },
  everyMinutes: {
    ko: (n: number) => `${n}분마다`,
    en: (n: number) => (n === 1 ? 'every minute' : `every ${n} minutes`),
  },
  hourly: {
    ko: (minute: number) => (minute === 0 ? '매시 정각' : `매시 ${minute}분`),
    en: (minute: number) => (minute === 0 ? 'every hour' : `every hour, at minute ${minute}`),
  },
  hostZone: { ko: '서버의 시간대', en: 'zone of the server' },
  backOff: { ko: '실패해서 미룸', en: 'delayed after failures' },
  inTime: { ko: (time: string) => `${time} 뒤`, en: (time: string) => `in ${time}` },
  soon: { ko: '곧', en: 'soon' },
  failures: { ko: (n: number) => `연달아 ${n}번 실패`, en: (n: number) => `failed ${n} times in a row` },
  missedTimes: {
    ko: (n: number) => `놓친 때 ${n}번`,
    en: (n: number) => (n === 1 ? '1 time missed' : `${n} times missed`),
  },
  run: { ko: '지금 실행', en: 'Run now' },
  pause: { ko: '멈추기', en: 'Pause' },
  resume: { ko: '다시 켜기', en: 'Resume' },
  runText: {
    ko: '정해진 때와 상관없이 지금 한 번 실행합니다. 다음 실행은 그대로입니다.',
    en: 'It runs once now, whatever its schedule. Its next run stays.',
  },
  pauseText: {
    ko: '다시 켤 때까지 실행되지 않습니다. 지금 실행 중인 것은 계속됩니다.',
    en: 'It does not run until it is resumed. A run in progress goes on.',
  },
  resumeText: { ko: '지금부터 정해진 때에 다시 실행됩니다.', en: 'It runs at its times again from now on.' },
  started: { ko: '실행을 시작했습니다.', en: 'The run has started.' },
  alreadyRuns: { ko: '이미 실행 중입니다.', en: 'It is running already.' },
  pausedNow: { ko: '멈췄습니다.', en: 'Paused.' },
  resumedNow: { ko: '다시 켰습니다.', en: 'Resumed.' },
  fixed: {
    ko: '하트비트는 설정 agents.defaults.heartbeat로 바꿉니다.',
    en: 'A heartbeat is changed by agents.defaults.heartbeat in the configuration.',
  },
  what: { ko: '시키는 일', en: 'What the agent is told' },
  target: { ko: '세션', en: 'Session' },
  main: { ko: '주 세션', en: 'main session' },
  isolated: { ko: '실행마다 새 대화', en: 'a new transcript for each run' },
  post: { ko: '답을 게시하는 곳', en: 'Answer is posted to' },
  lastPlace: { ko: '마지막에 말한 곳', en: 'the last place' },
  missed: { ko: '놓친 때', en: 'Missed times' },
  most: { ko: '실행 한도', en: 'Most runs' },
  ran: { ko: (n: string) => `지금까지 ${n}번`, en: (n: string) => `${n} so far` },
  check: { ko: '먼저 묻는 것', en: 'Asked first' },
  runs: { ko: '실행', en: 'Runs' },
  noRuns: { ko: '아직 실행한 적이 없습니다.', en: 'It has not run yet.' },
  gone: {
    ko: '이 시점에는 없는 예약입니다. 실행했다면 아래에 남아 있습니다.',
    en: 'There is no such job at this point. Its runs, if it had any, are below.',
  },
  end: { ko: '결과', en: 'Outcome' },
  due: { ko: '예정된 때', en: 'Due' },
  took: { ko: '걸린 시간', en: 'Took' },
  tokens: { ko: '토큰', en: 'Tokens' },
  model: { ko: '모델', en: 'Model' },
  delivery: { ko: '게시', en: 'Post' },
  manual: { ko: '요청', en: 'on request' },
  noTokens: { ko: '모델 안 씀', en: 'no model' },
});
