import type { ErrorCode, Schemas } from '../api/client';
import { t, type Word, dictionary } from './index.svelte';

/** Sentences and words for the codes of the API. The compiler refuses a code without both languages. */

export type Outcome = Schemas['Outcome'];
export const outcomes: Record<Outcome, Word> = dictionary({
  active: { ko: '진행 중', en: 'active' },
  waiting: { ko: '대기 중', en: 'waiting' },
  blocked: { ko: '막힘', en: 'blocked' },
  no_reply: { ko: '답 없음', en: 'no reply' },
  done: { ko: '완료', en: 'done' },
});

export const sessionStatuses: Record<Schemas['SessionStatus'], Word> = dictionary({
  ACTIVE: { ko: '활동 중', en: 'active' },
  QUIET: { ko: '조용함', en: 'quiet' },
  ARCHIVED: { ko: '보관됨', en: 'archived' },
});

export const categories: Record<Schemas['Category'], Word> = dictionary({
  engineering_build: { ko: '개발/구현', en: 'Engineering' },
  infra_ops: { ko: '인프라/운영', en: 'Infrastructure' },
  qa_validation: { ko: 'QA/검증', en: 'QA' },
  planning_decision: { ko: '기획/의사결정', en: 'Planning' },
  research_analysis: { ko: '조사/분석', en: 'Research' },
  docs_knowledge: { ko: '문서/지식', en: 'Documents' },
  growth_marketing: { ko: '성장/마케팅', en: 'Growth' },
  customer_community: { ko: '고객/커뮤니티', en: 'Customers' },
  legal_compliance: { ko: '법무/준수', en: 'Legal' },
  biz_strategy: { ko: '사업/전략', en: 'Business' },
});

export type TaskState = Schemas['TaskState'];
export const taskStates: Record<TaskState, Word> = dictionary({
  backlog: { ko: '백로그', en: 'backlog' },
  pending: { ko: '대기', en: 'pending' },
  pending_approval: { ko: '승인 대기', en: 'waits for approval' },
  in_progress: { ko: '진행 중', en: 'in progress' },
  blocked: { ko: '막힘', en: 'blocked' },
  interrupted: { ko: '멈춤', en: 'interrupted' },
  completed: { ko: '완료', en: 'completed' },
  cancelled: { ko: '취소됨', en: 'cancelled' },
  abandoned: { ko: '방치됨', en: 'abandoned' },
  failed: { ko: '실패', en: 'failed' },
});

export const clusterRoles: Record<Schemas['ClusterRole'], Word> = dictionary({
  writer: { ko: '기록함', en: 'writes' },
  follower: { ko: '따라감', en: 'follows' },
  reader: { ko: '읽기만', en: 'reads only' },
  out: { ko: '멈춤', en: 'stopped' },
});

export const priorities: Record<Schemas['TaskPriority'], Word> = dictionary({
  urgent: { ko: '긴급', en: 'urgent' },
  high: { ko: '높음', en: 'high' },
  medium: { ko: '보통', en: 'medium' },
  low: { ko: '낮음', en: 'low' },
});

export const runStates: Record<Schemas['RunState'], Word> = dictionary({
  queued: { ko: '줄에서 기다림', en: 'queued' },
  running: { ko: '실행 중', en: 'running' },
  ok: { ko: '완료', en: 'done' },
  error: { ko: '오류', en: 'failed' },
  aborted: { ko: '중단됨', en: 'stopped' },
  timed_out: { ko: '시간 초과', en: 'timed out' },
});

/** Codes of operations on a cluster, which the page does not ask for. */
type OperatorCode =
  'no_cluster' | 'not_writer' | 'reader' | 'writer_stays' | 'role_unchanged' | 'no_gateway' | 'fenced';

const away: Word = { ko: '지금 쓰는 노드가 없습니다.', en: 'No node takes writes now.' };

/** What the page says about a request that failed. Details of the server are beside it. */
export const errors: Record<Exclude<ErrorCode, OperatorCode>, Word> = dictionary({
  unauthorized: { ko: '로그인이 필요합니다.', en: 'You need to log in.' },
  forbidden: { ko: '이 세션으로는 할 수 없습니다.', en: 'This session may not do that.' },
  wrong_token: { ko: '토큰이 맞지 않습니다.', en: 'The token is wrong.' },
  code_used: { ko: '이 링크는 이미 쓰였거나 만료되었습니다.', en: 'This link was used already or has expired.' },
  locked_out: { ko: '시도가 너무 많았습니다. 잠시 뒤에 다시 하세요.', en: 'Too many attempts. Try again in a while.' },
  cross_origin: {
    ko: '다른 사이트에서 온 요청이라 거절되었습니다.',
    en: 'Refused: the request came from another site.',
  },
  unknown_host: { ko: '서버가 이 호스트 이름을 모릅니다.', en: 'The server does not know this host name.' },
  origin_refused: {
    ko: '서버가 이 주소의 페이지를 허용하지 않습니다.',
    en: 'The server does not allow pages of this address.',
  },
  not_found: { ko: '찾을 수 없습니다.', en: 'It was not found.' },
  invalid_parameter: { ko: '값이 올바르지 않습니다.', en: 'A value is not valid.' },
  invalid_body: { ko: '요청 내용이 올바르지 않습니다.', en: 'The request is not valid.' },
  missing_field: { ko: '값이 빠졌습니다.', en: 'A value is missing.' },
  invalid_category: { ko: '그런 범주가 없습니다.', en: 'There is no such category.' },
  too_long: { ko: '너무 깁니다.', en: 'It is too long.' },
  too_large: { ko: '너무 큽니다.', en: 'It is too large.' },
  behind: { ko: '서버가 아직 그 이벤트까지 읽지 못했습니다.', en: 'The server has not processed that event yet.' },
  busy: { ko: '서버가 바쁩니다.', en: 'The server is busy.' },
  read_busy: { ko: '서버가 다른 읽기로 바쁩니다.', en: 'The server is busy with other reads.' },
  closed: { ko: '서버가 끝나는 중입니다.', en: 'The server is shutting down.' },
  internal: { ko: '서버에 오류가 났습니다.', en: 'The server failed.' },
  unreachable: { ko: '서버에 닿지 않습니다.', en: 'The server cannot be reached.' },
  not_json: { ko: '서버의 답을 읽을 수 없습니다.', en: 'The answer of the server cannot be read.' },
  search_slow: { ko: '찾는 데 너무 오래 걸립니다. 낱말을 더하세요.', en: 'The search takes too long. Add a word.' },
  search_rebuilding: { ko: '검색 색인을 다시 만드는 중입니다.', en: 'The search index is being rebuilt.' },
  disk_full: { ko: '디스크가 가득 찼습니다.', en: 'The disk is full.' },
  corrupt: { ko: '데이터베이스가 손상되었습니다.', en: 'The database is damaged.' },
  database_lost: { ko: '데이터베이스 파일이 없어졌습니다.', en: 'The database file is gone.' },
  io_error: { ko: '디스크를 읽거나 쓸 수 없습니다.', en: 'The disk cannot be read or written.' },
  locked: { ko: '다른 프로그램이 데이터베이스를 쓰고 있습니다.', en: 'Another program uses the database.' },
  conflict: { ko: '그 사이에 바뀌었습니다.', en: 'It has changed meanwhile.' },
  wrong_state: { ko: '이미 다른 상태입니다.', en: 'Its state is another one by now.' },
  not_allowed: { ko: '허용되지 않습니다.', en: 'It is not allowed.' },
  decided_elsewhere: { ko: '다른 게이트웨이가 정합니다.', en: 'Another gateway decides this.' },
  tasks_not_kept: { ko: '다른 게이트웨이가 작업을 가지고 있습니다.', en: 'Another gateway keeps the tasks.' },
  runs_not_available: { ko: '여기에는 실행 기록이 없습니다.', en: 'There are no runs here.' },
  as_of_not_supported: { ko: '이 화면에는 과거가 없습니다.', en: 'This view has no past.' },
  no_past: { ko: '이 화면에는 과거가 없습니다.', en: 'This view has no past.' },
  store_unreadable: {
    ko: '서버에 저장한 것을 읽을 수 없습니다.',
    en: 'What is stored on the server cannot be read.',
  },
  no_such_point: { ko: '로그에 그 시점이 없습니다.', en: 'The log has no such point.' },
  past_failed: { ko: '그 시점의 상태를 만들지 못했습니다.', en: 'The state at that point could not be built.' },
  archived: { ko: '보관된 구간이라 바로 읽을 수 없습니다.', en: 'That part is archived.' },
  unsupported_media_type: { ko: '요청의 형식이 맞지 않습니다.', en: 'The request has the wrong format.' },
  method_not_allowed: {
    ko: '이 주소에는 그런 요청을 할 수 없습니다.',
    en: 'This address does not take such requests.',
  },
  bad_handshake: { ko: '연결을 열지 못했습니다.', en: 'The connection could not be opened.' },
  path_not_allowed: { ko: '쓸 수 없는 경로입니다.', en: 'That path may not be used.' },
  not_a_file: { ko: '파일이 아닙니다.', en: 'It is not a file.' },
  write_failed: { ko: '파일을 쓰지 못했습니다.', en: 'The file could not be written.' },
  foreign_event: {
    ko: '데이터베이스에 다른 프로그램의 이벤트가 있습니다.',
    en: 'The database has events of another program.',
  },
  sql_off: { ko: 'SQL이 꺼져 있습니다.', en: 'SQL is turned off.' },
  sql_refused: { ko: '허용되지 않는 SQL입니다.', en: 'This SQL is not allowed.' },
  sql_error: { ko: 'SQL에 오류가 있습니다.', en: 'The SQL has an error.' },
  sql_timeout: {
    ko: '정해진 시간 안에 끝나지 않아 멈췄습니다.',
    en: 'It was stopped, because it did not end in time.',
  },
  sql_too_large: { ko: '결과가 너무 큽니다.', en: 'The result is too large.' },
  sql_busy: {
    ko: '다른 SQL이 실행 중입니다. 잠시 뒤에 다시 하세요.',
    en: 'Other SQL is running. Try again in a while.',
  },
  invalid_redaction: { ko: '지울 것을 잘못 골랐습니다.', en: 'What is to be redacted is not valid.' },
  protected_event: { ko: '지울 수 없는 이벤트가 있습니다.', en: 'An event among them cannot be redacted.' },
  too_many_events: { ko: '이벤트가 너무 많습니다.', en: 'There are too many events.' },
  nothing_to_redact: { ko: '지울 것이 없습니다.', en: 'There is nothing to redact.' },
  no_room: { ko: '디스크에 자리가 모자랍니다.', en: 'The disk does not have enough space.' },
  not_here: { ko: '이 서버에는 없는 기능입니다.', en: 'This server does not have that.' },
  task_hub: { ko: '이전 Task-Hub가 답하지 않습니다.', en: 'The old Task-Hub does not answer.' },
  no_writer: away,
  writer_lost: away,
  role_changes: away,
  shared_unavailable: away,
  shared_uncertain: { ko: '저장됐는지 알 수 없습니다.', en: 'It is not known whether it was stored.' },
  shared_conflict: away,
  follower: away,
  node_failing: away,
});

// A newer server may have a code that this page does not know.
export const errorSentence = (code: ErrorCode): string =>
  t((errors as Partial<Record<ErrorCode, Word>>)[code] ?? errors.internal);

/** Why something failed or is blocked, by reasonCode. */
export const reasons: Record<Schemas['ReasonCode'], Word> = dictionary({
  wait_timeout: { ko: '정해진 시간 안에 답이 오지 않았습니다.', en: 'No answer came in time.' },
  agent_busy: { ko: '상대가 바빠서 더 받을 수 없었습니다.', en: 'The agent had no room for one more exchange.' },
  run_not_found: { ko: '기다리던 실행의 상태를 알 수 없습니다.', en: 'The state of the awaited run is unknown.' },
  empty_answer: { ko: '실행이 답 없이 끝났습니다.', en: 'The run ended without an answer.' },
  dispatch_failed: { ko: '전달되지 못했습니다.', en: 'It was not delivered.' },
  a2a_denied: { ko: '정책이 이 대화를 막습니다.', en: 'A policy forbids this conversation.' },
  abandoned: { ko: '너무 오래 진행이 없어서 그만두었습니다.', en: 'Given up: there was no progress for too long.' },
  cancelled: { ko: '요청에 따라 멈췄습니다.', en: 'Stopped on request.' },
  interrupted: { ko: '재시작 때문에 끊겼습니다.', en: 'Interrupted by a restart.' },
  model_rejected: { ko: '모델이 요청을 거절했습니다.', en: 'The model rejected the request.' },
  context_too_long: {
    ko: '모델이 거절: 컨텍스트가 너무 깁니다.',
    en: 'The model rejected it: the context is too long.',
  },
  rate_limited: { ko: '모델의 사용 한도를 넘었습니다.', en: 'The rate limit of the model is reached.' },
  overloaded: { ko: '모델 제공자가 너무 바쁩니다.', en: 'The provider of the model is overloaded.' },
  model_unavailable: { ko: '모델을 쓸 수 없습니다.', en: 'The model is not available.' },
  auth: { ko: '모델 제공자가 인증을 거절했습니다.', en: 'The provider refused the credentials.' },
  answer_invalid: { ko: '모델의 답을 읽을 수 없습니다.', en: 'The answer of the model cannot be read.' },
  run_timeout: { ko: '실행이 너무 오래 걸렸습니다.', en: 'The run took too long.' },
  tools_failed: { ko: '도구를 준비하지 못했습니다.', en: 'The tools could not be prepared.' },
  prompt_failed: { ko: '프롬프트를 만들지 못했습니다.', en: 'The prompt could not be made.' },
  internal: { ko: '실행 중에 내부 오류가 났습니다.', en: 'An internal error occurred in the run.' },
  run_failed: { ko: '실행이 실패했습니다.', en: 'The run failed.' },
  task_blocked: { ko: '작업이 막혔습니다.', en: 'The task is blocked.' },
  other: { ko: '다른 이유입니다.', en: 'Another reason.' },
});

/** The sentence of a reason's code, or the server's text where there is no code. */
export function reasonSentence(code: string | null | undefined, text?: string | null): string {
  // The reason of a blocked task is in the agent's own words.
  const known = code === 'task_blocked' || code === 'other' ? undefined : reasons[code as Schemas['ReasonCode']];
  return known ? t(known) : (text ?? (code ? t(reasons.other) : ''));
}

/** Why a run failed, by the class of its error. */
export const runFailures: Record<string, Word> = dictionary({
  rejected: reasons.model_rejected,
  context_exceeded: reasons.context_too_long,
  rate_limited: reasons.rate_limited,
  overloaded: reasons.overloaded,
  unavailable: reasons.model_unavailable,
  timeout: reasons.model_unavailable,
  auth: reasons.auth,
  malformed: reasons.answer_invalid,
  too_large: reasons.answer_invalid,
  tools: reasons.tools_failed,
  prompt: reasons.prompt_failed,
  internal: reasons.internal,
});

/** What the continuation decided for an agent. */
export const continuationKinds: Record<Schemas['ContinuationKind'], Word> = dictionary({
  nothing: { ko: '기다림', en: 'waits' },
  continue: { ko: '하던 일을 이어감', en: 'continues its task' },
  pick: { ko: '다음 일을 고름', en: 'picks a task' },
  ask: { ko: '도움을 청함', en: 'asks for help' },
  remind: { ko: '알림', en: 'is reminded' },
  recover: { ko: '되살림', en: 'recovers' },
  escalate: { ko: '사람에게 넘김', en: 'passes it on to people' },
  reset: { ko: '세션을 비움', en: 'resets the session' },
  restart: { ko: '다시 시작', en: 'starts again' },
});

/** Why the continuation decided so, about the agent or its task. */
export const continuationReasons: Record<Schemas['ContinuationReason'], Word> = dictionary({
  disabled: { ko: '이어가기가 꺼져 있습니다.', en: 'Continuation is turned off.' },
  done: { ko: '끝나지 않은 작업이 없습니다.', en: 'There is no unfinished task.' },
  approval: { ko: '승인을 기다립니다.', en: 'It waits for approval.' },
  busy: { ko: '실행이 있거나 줄에서 기다립니다.', en: 'A run is under way or queued.' },
  backoff: { ko: '실패한 뒤라 쉬고 있습니다.', en: 'It pauses after a failure.' },
  cooldown: { ko: '방금 알려서 잠시 기다립니다.', en: 'It was prompted a moment ago.' },
  not_idle: { ko: '조금 전까지 일했습니다.', en: 'It worked until a moment ago.' },
  blocked: { ko: '작업이 막혀 있습니다.', en: 'Its task is blocked.' },
  not_yet: { ko: '백로그의 작업을 아직 시작할 수 없습니다.', en: 'Its backlog tasks cannot start yet.' },
  told: { ko: '풀리지 않는다고 이미 알렸습니다.', en: 'It was already reported that its task cannot go on.' },
  interrupted: { ko: '작업이 멈춰 있습니다.', en: 'Its task is interrupted.' },
  idle: { ko: '한동안 아무 일도 없었습니다.', en: 'Nothing has happened for a while.' },
  self_driving: { ko: '스스로 다음 단계로 갑니다.', en: 'It goes on to the next step by itself.' },
  steps_missing: { ko: '작업에 단계가 없습니다.', en: 'Its task has no steps.' },
  backlog: { ko: '백로그에 할 일이 있습니다.', en: 'There is a task in the backlog.' },
  unblock: { ko: '다른 에이전트가 풀 수 있는 작업입니다.', en: 'Another agent can unblock its task.' },
  still_blocked: { ko: '도움을 청한 뒤에도 막혀 있습니다.', en: 'It is still blocked after help was asked for.' },
  zombie: { ko: '작업이 오랫동안 움직이지 않습니다.', en: 'Its task has not moved for long.' },
  same_step: { ko: '같은 단계를 되풀이합니다.', en: 'It repeats the same step.' },
  no_progress: { ko: '나아가지 않습니다.', en: 'It makes no progress.' },
  no_answer: { ko: '물었지만 답이 없습니다.', en: 'It asked and got no answer.' },
  not_delivered: { ko: '전달되지 않았습니다.', en: 'It was not delivered.' },
  nobody_to_ask: { ko: '물어볼 에이전트가 없습니다.', en: 'There is no agent to ask.' },
  dependency_gone: { ko: '기다리던 작업이 끝날 수 없습니다.', en: 'The task that it waits for cannot be completed.' },
  context_reset: {
    ko: '컨텍스트가 너무 길어 세션을 비웠습니다.',
    en: 'The context was too long, so the session was reset.',
  },
  restart: { ko: '서버가 다시 시작되었습니다.', en: 'The server was restarted.' },
});

export const collaborationStatuses: Record<Schemas['CollaborationStatus'], Word> = dictionary({
  pending: { ko: '답을 기다림', en: 'waits for an answer' },
  responded: { ko: '답함', en: 'answered' },
  escalated: { ko: '사람에게 넘어감', en: 'escalated' },
  responded_late: { ko: '늦게 답함', en: 'answered late' },
  failed: { ko: '실패', en: 'failed' },
});

export const deliveries: Record<Schemas['CollaborationDelivery'], Word> = dictionary({
  accepted: { ko: '아직 전달 안 됨', en: 'not delivered yet' },
  sent: { ko: '전달됨', en: 'delivered' },
  failed: { ko: '전달 실패', en: 'not delivered' },
  delivery_unknown: { ko: '전달되었는지 알 수 없음', en: 'delivery unknown' },
});

export const flowPhases: Record<Schemas['FlowPhase'], Word> = dictionary({
  dispatching: { ko: '보내는 중', en: 'being delivered' },
  waiting: { ko: '답을 기다림', en: 'waits for an answer' },
  turn: { ko: '주고받는 중', en: 'in exchange' },
  announcing: { ko: '결과를 알리는 중', en: 'being announced' },
  posting: { ko: '글을 올리는 중', en: 'being posted' },
  over: { ko: '끝', en: 'over' },
});

export const flowOutcomes: Record<Schemas['FlowOutcome'], Word> = dictionary({
  ok: { ko: '답함', en: 'answered' },
  no_reply: { ko: '답 없음', en: 'no reply' },
  blocked: { ko: '막힘', en: 'blocked' },
  failed: { ko: '실패', en: 'failed' },
  abandoned: { ko: '그만둠', en: 'given up' },
  cancelled: { ko: '취소됨', en: 'cancelled' },
  killed: { ko: '중단됨', en: 'stopped' },
  timeout: { ko: '시간 초과', en: 'timed out' },
});

/** Why there is no answer, by data.waitStatus of an event. */
export const waitStatuses: Record<Schemas['WaitStatus'], Word> = dictionary({
  timeout: { ko: '시간 초과', en: 'timed out' },
  queue_timeout: { ko: '줄에서 시간 초과', en: 'timed out in the queue' },
  error: { ko: '오류', en: 'failed' },
  aborted: { ko: '중단됨', en: 'stopped' },
  not_found: { ko: '실행을 찾을 수 없음', en: 'run not found' },
  empty: { ko: '빈 답', en: 'empty answer' },
  dispatch_failed: { ko: '전달 실패', en: 'not delivered' },
  cancelled: { ko: '취소됨', en: 'cancelled' },
  killed: { ko: '중단됨', en: 'stopped' },
  abandoned: { ko: '그만둠', en: 'given up' },
});

export const botStates: Record<Schemas['BotState'], Word> = dictionary({
  off: { ko: '꺼짐', en: 'off' },
  connecting: { ko: '연결 중', en: 'connecting' },
  ready: { ko: '연결됨', en: 'connected' },
  resuming: { ko: '다시 연결 중', en: 'reconnecting' },
  failed: { ko: '끊김', en: 'offline' },
});

export const roles: Record<Schemas['Role'], Word> = dictionary({
  'conversation.main': { ko: '대화', en: 'conversation' },
  'delegation.subagent': { ko: '하위 에이전트', en: 'sub-agent' },
  'orchestration.task': { ko: '작업', en: 'task' },
  'system.observability': { ko: '시스템', en: 'system' },
});

export const projectionStates: Record<Schemas['ProjectionState'], Word> = dictionary({
  live: { ko: '최신', en: 'up to date' },
  parked: { ko: '멈춤', en: 'stopped' },
  rebuilding: { ko: '다시 만드는 중', en: 'being rebuilt' },
});

export type AgentStatus = Schemas['AgentStatus'];

/** Most urgent first, which is the order of lists. */
export const agentStatuses: Record<AgentStatus, Word> = dictionary({
  blocked: { ko: '막힘', en: 'blocked' },
  backoff: { ko: '거듭 실패', en: 'failing' },
  offline: { ko: '봇 끊김', en: 'bot offline' },
  interrupted: { ko: '멈춤', en: 'interrupted' },
  running: { ko: '실행 중', en: 'running' },
  queued: { ko: '줄에서 기다림', en: 'queued' },
  waiting: { ko: '대기 중', en: 'waiting' },
  working: { ko: '작업 중', en: 'working' },
  unconfigured: { ko: '설정에 없음', en: 'not configured' },
  idle: { ko: '쉬는 중', en: 'idle' },
});

/** Colour and shape of an agent's status. */
export const agentTones: Record<AgentStatus, 'active' | 'waiting' | 'blocked' | 'no_reply' | 'done' | 'quiet'> = {
  blocked: 'blocked',
  backoff: 'blocked',
  offline: 'no_reply',
  interrupted: 'no_reply',
  running: 'active',
  queued: 'waiting',
  waiting: 'waiting',
  working: 'active',
  unconfigured: 'quiet',
  idle: 'quiet',
};
