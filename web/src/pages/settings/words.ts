import type { Schemas } from '$lib/api/client';
import { dictionary, words, type Word } from '$lib/i18n/index.svelte';

export const w = words({
  title: { ko: '설정', en: 'Settings' },
  parts: { ko: '설정의 종류', en: 'Parts of the settings' },
  general: { ko: '화면과 세션', en: 'Page and session' },
  configuration: { ko: '서버 설정', en: 'Server configuration' },
  migrations: { ko: '이사', en: 'Moving in' },

  display: { ko: '보기', en: 'Display' },
  hereOnly: { ko: '이 브라우저에만 저장됩니다.', en: 'Stored in this browser only.' },
  language: { ko: '언어', en: 'Language' },
  theme: { ko: '밝기', en: 'Theme' },
  auto: { ko: '시스템을 따름', en: 'As the system' },
  light: { ko: '밝게', en: 'Light' },
  dark: { ko: '어둡게', en: 'Dark' },
  density: { ko: '줄 간격', en: 'Density' },
  normal: { ko: '보통', en: 'Normal' },
  dense: { ko: '촘촘하게', en: 'Dense' },
  zone: { ko: '시간대', en: 'Time zone' },
  zoneBrowser: { ko: (zone: string) => `브라우저의 시간대 (${zone})`, en: (zone: string) => `The browser's (${zone})` },
  nowThere: { ko: (time: string) => `지금은 ${time}`, en: (time: string) => `It is ${time}` },
  by: { ko: '결정에 남길 이름', en: 'Name that signs decisions' },
  bySession: {
    ko: (name: string) => `이 세션의 이름은 ${name}입니다. 서버가 결정에 남깁니다.`,
    en: (name: string) => `The server signs decisions of this session with ${name}.`,
  },

  work: { ko: '키와 알림', en: 'Keys and notifications' },
  keys: { ko: '한 글자 단축키', en: 'Single-key shortcuts' },
  keysNote: {
    ko: 'Ctrl-K와 Esc는 늘 됩니다. ?를 누르면 모두 보입니다.',
    en: 'Ctrl-K and Esc always work. ? shows all of them.',
  },
  notify: { ko: '새 승인 요청을 브라우저 알림으로 받기', en: 'Browser notifications for new approvals' },
  notifyNote: {
    ko: '이 탭이 열려 있는 동안 옵니다. 켤 때 브라우저가 허락을 묻습니다.',
    en: 'They come while this tab is open. The browser asks for permission when you turn them on.',
  },
  notifyDenied: {
    ko: '브라우저가 이 사이트의 알림을 막았습니다. 브라우저의 사이트 설정에서 풀 수 있습니다.',
    en: 'The browser blocks notifications of this site. Its site settings allow them again.',
  },
  notifyNone: { ko: '이 브라우저에는 알림이 없습니다.', en: 'This browser has no notifications.' },
  snoozed: { ko: '미뤄 둔 문제', en: 'Snoozed problems' },
  snoozedCount: { ko: (n: number) => `${n}개`, en: (n: number) => `${n}` },
  showAll: { ko: '모두 다시 보기', en: 'Show all again' },
  none: { ko: '없음', en: 'None' },

  channels: { ko: '채널', en: 'Channels' },
  noBots: { ko: '봇이 없습니다.', en: 'No bots.' },
  channelMessages: { ko: '이 채널의 메시지와 판정', en: 'Messages and decisions' },
  openChannel: { ko: (channel: string) => `${channel} 열기`, en: (channel: string) => `Open ${channel}` },

  saved: { ko: '저장한 것', en: 'Saved things' },
  savedNote: {
    ko: '설정, 저장한 질문, 최근에 본 곳을 파일로 옮깁니다. 비밀은 들어 있지 않습니다.',
    en: 'Settings, saved queries and recent places as a file. It contains no secret.',
  },
  exportAll: { ko: '파일로 내보내기', en: 'Export to a file' },
  importAll: { ko: '파일에서 가져오기', en: 'Import from a file' },
  imported: {
    ko: (n: number) => `${n}개를 가져왔습니다. 다시 불러옵니다.`,
    en: (n: number) => `${n} entries imported. Loading again.`,
  },
  notAFile: {
    ko: '이 파일은 여기서 내보낸 것이 아닙니다. 아무것도 바꾸지 않았습니다.',
    en: 'This file was not exported here. Nothing was changed.',
  },

  session: { ko: '세션', en: 'Session' },
  role: { ko: '권한', en: 'Role' },
  name: { ko: '이름', en: 'Name' },
  noName: { ko: '로그인 없음', en: 'no login' },
  until: { ko: '끝나는 때', en: 'Until' },
  never: { ko: '끝나지 않음', en: 'It does not end' },
  raise: { ko: '관리자 권한', en: 'Role of an administrator' },
  raiseNote: {
    ko: 'SQL, 백업, 내용 삭제에 필요합니다. 15분 뒤에 저절로 끝납니다.',
    en: 'SQL, backups and redaction need it. It ends by itself after 15 minutes.',
  },
  sqlOff: {
    ko: '이 서버는 OPENCLAWD_ADMIN_TOKEN 없이 시작되어 관리자가 없습니다.',
    en: 'This server was started without OPENCLAWD_ADMIN_TOKEN, so there is no administrator.',
  },
  logOut: { ko: '로그아웃', en: 'Log out' },
  logOutAll: { ko: '모든 기기에서 로그아웃', en: 'Log out everywhere' },
  logOutAllNote: {
    ko: '모든 사람의 세션이 끝나고, 다시 로그인해야 합니다.',
    en: 'The sessions of everybody end, and a login is needed again.',
  },
  really: { ko: '모든 세션 끝내기', en: 'End all sessions' },
  cancel: { ko: '그만두기', en: 'Cancel' },

  connection: { ko: '연결', en: 'Connection' },
  address: { ko: '주소', en: 'Address' },
  server: { ko: '서버', en: 'Server' },
  mode: { ko: '방식', en: 'Mode' },
  produce: { ko: '직접 기록', en: 'records the log' },
  follow: { ko: '다른 로그를 따라감', en: 'follows another log' },
  logId: { ko: '로그 식별자', en: 'Log' },
  seq: { ko: '여기 / 서버', en: 'Here / server' },
  reconnects: { ko: '다시 연결', en: 'Reconnects' },
  times: { ko: (n: string) => `${n}번`, en: (n: string) => (n === '1' ? 'once' : `${n} times`) },
  licences: { ko: '이 화면에 쓰인 소프트웨어의 라이선스', en: 'Licences of the software in this page' },

  check: { ko: '설정 파일 검사', en: 'Check of the file' },
  checkAgain: { ko: '다시 검사', en: 'Check again' },
  noFile: {
    ko: '설정 파일이 없습니다. 서버는 기본값을 쓰고 모든 에이전트를 받아들입니다.',
    en: 'There is no file. The server uses its defaults and accepts every agent.',
  },
  usable: { ko: '쓸 수 있음', en: 'can be used' },
  unusable: { ko: '쓸 수 없음', en: 'cannot be used' },
  unusableNote: {
    ko: '서버는 마지막으로 올바르던 설정을 계속 씁니다.',
    en: 'The server goes on with the last good configuration.',
  },
  fine: { ko: '고칠 것이 없습니다.', en: 'Nothing needs to be fixed.' },
  error: { ko: '오류', en: 'error' },
  warning: { ko: '경고', en: 'warning' },
  counts: {
    ko: (errors: number, warnings: number) => `오류 ${errors}, 경고 ${warnings}`,
    en: (errors: number, warnings: number) => `${errors} errors, ${warnings} warnings`,
  },
  line: {
    ko: (line: number, column: number) => `${line}번째 줄, ${column}번째 글자`,
    en: (line: number, column: number) => `line ${line}, column ${column}`,
  },
  wholeFile: { ko: '파일 전체', en: 'the whole file' },
  found: { ko: '지금 값', en: 'Value now' },
  fix: { ko: '고치는 법', en: 'Fix' },
  copyFix: { ko: '고칠 곳 복사', en: 'Copy the fix' },
  copied: { ko: '복사했습니다.', en: 'Copied.' },
  ignored: { ko: '있지만 효과 없는 설정', en: 'Settings without effect here' },
  notBuilt: { ko: '아직 지원하지 않음', en: 'not supported yet' },
  noMatter: { ko: '여기서는 뜻이 없음', en: 'no meaning here' },
  more: { ko: (n: number) => `${n}개 더`, en: (n: number) => `${n} more` },
  effective: { ko: '쓰이고 있는 설정', en: 'Settings in force' },
  setting: { ko: '설정', en: 'Setting' },
  value: { ko: '값', en: 'Value' },
  source: { ko: '어디서', en: 'From' },
  sourceDefault: { ko: '기본값', en: 'default' },
  unset: { ko: '없음', en: 'not set' },
  secretSet: { ko: '*** (있음)', en: '*** (set)' },
  whole: { ko: '전체 설정 (비밀은 가림)', en: 'Whole configuration (secrets masked)' },
  team: { ko: '에이전트', en: 'Agents' },
  usual: { ko: '기본', en: 'default' },
});

export const roleWords: Record<'none' | 'read' | 'operate' | 'admin', Word> = {
  none: { ko: '없음', en: 'none' },
  read: { ko: '보기', en: 'read' },
  operate: { ko: '보기와 결정', en: 'read and act' },
  admin: { ko: '관리자', en: 'administrator' },
};

/** What a finding is about. The server's text says it for this place. */
export const configCodes: Record<Schemas['ConfigCode'], Word> = dictionary({
  agent_dropped: { ko: '이 자리의 에이전트는 쓰이지 않습니다.', en: 'An agent in this place is ignored.' },
  agent_no_id: { ko: '에이전트에 id가 없습니다.', en: 'An agent has no id.' },
  agent_twice: { ko: '두 에이전트의 id가 같습니다.', en: 'Two agents have the same id.' },
  big_number: { ko: '다른 프로그램이 읽지 못하는 큰 수입니다.', en: 'The number is too large for other programs.' },
  depth: { ko: '너무 깊이 겹쳐 있습니다.', en: 'It is nested too deeply.' },
  discord_token: {
    ko: 'Discord 봇 토큰처럼 보이지 않습니다.',
    en: 'It does not look like the token of a Discord bot.',
  },
  duplicate_key: {
    ko: '같은 키가 두 번 있습니다. 마지막 것이 쓰입니다.',
    en: 'A key is there twice. The last one counts.',
  },
  encoding: { ko: 'UTF-8이 아닙니다.', en: 'It is not UTF-8.' },
  environment: { ko: '환경 변수가 없습니다.', en: 'An environment variable is not set.' },
  file: { ko: '파일을 읽을 수 없습니다.', en: 'The file cannot be read.' },
  include: { ko: '포함한 파일을 읽을 수 없습니다.', en: 'An included file cannot be read.' },
  include_cycle: { ko: '파일들이 서로를 포함합니다.', en: 'Files include each other.' },
  include_escape: { ko: '포함한 파일이 폴더 밖에 있습니다.', en: 'An included file is outside of the folder.' },
  model: { ko: '쓸 수 없는 모델입니다.', en: 'The model is not available.' },
  script: { ko: '대본을 읽을 수 없거나 대본이 잘못되었습니다.', en: 'A script cannot be read or is invalid.' },
  size: { ko: '너무 큽니다.', en: 'It is too large.' },
  syntax: { ko: 'JSON5 문법에 맞지 않습니다.', en: 'It is not JSON5.' },
  too_many_agents: {
    ko: '에이전트가 너무 많아 하나도 읽지 않았습니다.',
    en: 'There are too many agents; none is read.',
  },
  type: { ko: '값의 종류가 다릅니다.', en: 'The value is of another type.' },
  unbound_secret: { ko: '다른 프로그램만 풀 수 있는 비밀입니다.', en: 'Only another program can resolve this secret.' },
  unknown_account: {
    ko: '채널에 없는 계정을 가리킵니다.',
    en: 'It names an account of a channel that is not configured.',
  },
  unknown_agent: { ko: '없는 에이전트를 가리킵니다.', en: 'It names an agent that is not configured.' },
  unknown_key: { ko: '모르는 키입니다.', en: 'The key is unknown.' },
  value: { ko: '쓸 수 없는 값입니다.', en: 'The value is not allowed.' },
});

/** Name of a file without its folders. */
export const baseOf = (file: string): string => file.split('/').at(-1) ?? file;
