import { dictionary, words, type Word } from '$lib/i18n/index.svelte';

/** Why it is not known whether a call had its effect. */
export const unknownReasons: Record<string, Word> = dictionary({
  restart: { ko: '서버가 다시 시작되는 동안 하던 호출입니다.', en: 'The server was restarted while it was under way.' },
  timeout: { ko: '제때 답이 오지 않았습니다.', en: 'There was no answer in time.' },
  connection: { ko: '하는 중에 연결이 끊겼습니다.', en: 'The connection was lost while it was under way.' },
  stopped: { ko: '하는 중에 멈췄습니다.', en: 'It was stopped while it was under way.' },
  broken: { ko: '안에서 실패했습니다.', en: 'It failed inside.' },
});

/** Groups of tools. Plugins may have others. */
export const groups: Record<string, Word> = dictionary({
  agents: { ko: '에이전트', en: 'Agents' },
  sessions: { ko: '세션', en: 'Sessions' },
  tasks: { ko: '작업', en: 'Tasks' },
  plans: { ko: '계획', en: 'Plans' },
  files: { ko: '파일', en: 'Files' },
  fs: { ko: '파일', en: 'Files' },
  runtime: { ko: '명령', en: 'Commands' },
  web: { ko: '웹', en: 'Web' },
  mcp: { ko: 'MCP 서버', en: 'MCP servers' },
});

export const w = words({
  title: { ko: '도구', en: 'Tools' },
  views: { ko: '보기', en: 'Views' },
  calls: { ko: '호출', en: 'Calls' },
  servers: { ko: 'MCP 서버', en: 'MCP servers' },
  rights: { ko: '권한', en: 'Permissions' },
  filters: { ko: '거르기', en: 'Filters' },
  agent: { ko: '에이전트', en: 'Agent' },
  all: { ko: '모두', en: 'All' },
  tool: { ko: '도구', en: 'Tool' },
  server: { ko: '서버', en: 'Server' },
  end: { ko: '결과', en: 'Outcome' },
  unknownOnly: {
    ko: (n: string) => `결과를 모르는 호출 ${n}개`,
    en: (n: string) => (n === '1' ? '1 call with an unknown outcome' : `${n} calls with an unknown outcome`),
  },
  unknownText: {
    ko: '효과가 있었는지 알 수 없는 호출입니다. 다시 시키기 전에, 읽기만 하는 도구나 그 서비스에서 확인하세요.',
    en: 'It is not known whether these calls had their effect. Find out, with a tool that only reads or in the service itself, before they are made again.',
  },
  recorded: {
    ko: '밖에 효과가 있는 도구의 호출: MCP 서버, 명령, 파일, 웹. 다른 호출은 실행의 흐름에, 거절된 호출은 수신함에 있습니다.',
    en: 'Calls of tools with an effect outside: MCP servers, commands, files, the web. Other calls are in the flow of a run, refused ones in the inbox.',
  },
  none: { ko: '기록된 호출이 없습니다.', en: 'No calls are recorded.' },
  noneText: {
    ko: '에이전트가 명령을 실행하거나 파일, 웹, MCP 서버의 도구를 쓰면 여기에 남습니다.',
    en: 'What agents do with commands, files, the web and tools of MCP servers is recorded here.',
  },
  redacted: { ko: '지운 호출', en: 'redacted call' },
  more: { ko: '더 보기', en: 'Show more' },
  run: { ko: '실행', en: 'Run' },
  task: { ko: '작업', en: 'Task' },
  event: { ko: '이벤트', en: 'Event' },
  client: { ko: '부른 쪽', en: 'Client' },
  arguments: { ko: '인자', en: 'Arguments' },
  long: { ko: (size: string) => `${size}, 이벤트에 있음`, en: (size: string) => `${size}, in the event` },
  result: { ko: '답', en: 'Answer' },
  why: { ko: '이유', en: 'Why' },
  attempt: { ko: (n: number) => `${n}번째 시도`, en: (n: number) => `attempt ${n}` },
  repeatable: { ko: '다시 해도 됨', en: 'may be repeated' },
  noServers: { ko: 'MCP 서버가 없습니다.', en: 'There are no MCP servers.' },
  noServersText: {
    ko: 'openclaw.json의 mcp.servers에 프로그램이나 주소를 적으면 에이전트가 그 도구를 씁니다.',
    en: 'Name programs or addresses in mcp.servers of openclaw.json, and agents use their tools.',
  },
  serversElsewhere: {
    ko: '여기에서는 에이전트가 일하지 않아 MCP 서버도 없습니다.',
    en: 'No agents run here, and so no MCP servers either.',
  },
  since: { ko: (age: string) => `${age} 동안`, en: (age: string) => `for ${age}` },
  toolsOf: { ko: (n: number) => `도구 ${n}개`, en: (n: number) => (n === 1 ? '1 tool' : `${n} tools`) },
  starts: {
    ko: (starts: number, failures: number) => `시작 ${starts}번 · 실패 ${failures}번`,
    en: (starts: number, failures: number) =>
      `${starts} ${starts === 1 ? 'start' : 'starts'} · ${failures} ${failures === 1 ? 'failure' : 'failures'}`,
  },
  retry: {
    ko: (time: string) => `${time} 뒤부터 부르면 다시 시작합니다.`,
    en: (time: string) => `It is started again when it is called after ${time}.`,
  },
  retryNow: { ko: '부르면 다시 시작합니다.', en: 'It is started again when it is called.' },
  idle: { ko: '에이전트가 처음 쓸 때 시작합니다.', en: 'It is started when an agent first needs it.' },
  leftOut: { ko: '빠진 도구', en: 'Tools that are left out' },
  wrote: { ko: '프로그램이 마지막에 쓴 것', en: 'What its program wrote last' },
  callsOf: { ko: '호출 보기', en: 'Show calls' },
  rightsText: {
    ko: '에이전트의 주 세션에서 쓸 수 있는 도구입니다. 설정의 tools와 에이전트의 tools가 정합니다.',
    en: 'Tools that an agent may call in its main session, as tools of the configuration and tools of the agent decide.',
  },
  profile: { ko: '프로필', en: 'Profile' },
  allowed: { ko: '허용', en: 'Allowed' },
  denied: { ko: '금지', en: 'Denied' },
  choose: { ko: '에이전트를 고르면 도구마다 보여 줍니다.', en: 'Choose an agent to see each tool.' },
  outside: { ko: '밖에 효과가 있음', en: 'has an effect outside' },
  builtIn: {
    ko: '설정과 상관없이, 이 에이전트의 주 세션에는 없는 도구입니다.',
    en: 'It is not for the main session of this agent, whatever the configuration allows.',
  },
  onlyDenied: { ko: '금지된 것만', en: 'Denied only' },
  truncated: { ko: '처음 50명만 보여 줍니다.', en: 'Only the first 50 are shown.' },
});
