/** Messages of one chat, folded from what the gateway says. All functions are pure; `Chat` in chat.svelte.ts drives them. */

/** An answer of chat.history. */
export interface History {
  sessionKey: string;
  sessionId?: string;
  messages: RawMessage[];
  nextCursor?: string;
  pendingInputs?: { items: { runId: string; message: RawMessage; acceptedAt: number }[]; total: number };
}

export interface RawMessage {
  role: string;
  content?: unknown;
  timestamp?: number;
  toolCallId?: string;
  toolName?: string;
  isError?: boolean;
  stopReason?: string;
  errorMessage?: string;
  __openclaw?: {
    id?: string;
    seq?: number;
    idempotencyKey?: string;
    truncated?: boolean;
    reason?: string;
    fromAgent?: string;
    provenance?: string;
    runId?: string;
  };
}

export interface Tool {
  id: string;
  name: string;
  args: unknown;
  /** Null: it runs, or its result is not known. */
  ok: boolean | null;
  result: string;
  ms: number | null;
}

/** A file of a message, as it lies beside the log. */
export interface StoredFile {
  name: string;
  sha256: string;
  bytes: number;
}

/** Why a message has no text of its own. */
export type Placeholder = 'oversized' | 'redacted' | 'archived';

export interface Message {
  key: string;
  /** Place in the transcript, from 1. */
  seq: number;
  role: 'user' | 'assistant' | 'system';
  text: string;
  files: StoredFile[];
  time: number;
  tools: Tool[];
  /** The run that a person's message began. */
  runId: string | null;
  /** The run that said an agent's message. */
  saidBy: string | null;
  fromAgent: string | null;
  /** Said by the program, not by a person. */
  byProgram: boolean;
  stopped: boolean;
  error: string | null;
  placeholder: Placeholder | null;
}

/** A message of this page on its way. Its key is the request's: sent again, it is the same message. */
export interface Outgoing {
  key: string;
  text: string;
  time: number;
  /** `sending`: not known to have arrived. `accepted`: it has. `command`: it was carried out, and is in no transcript. */
  state: 'sending' | 'accepted' | 'command' | 'failed';
  error: string | null;
  /** Key of the last message before it. */
  after: string | null;
  /** Moment at which it was accepted. */
  moment: number;
}

/** What a run has said so far. */
export interface Run {
  runId: string;
  text: string;
  /** Texts before the tools that were called; the transcript has them soon. */
  earlier: { text: string; moment: number }[];
  tools: Tool[];
  state: 'running' | 'final' | 'aborted' | 'error';
  error: string | null;
  /** Moment of its end. */
  moment: number;
  time: number;
}

export interface State {
  sessionId: string | null;
  messages: Message[];
  /** Cursor of the messages before the first; null: there are none. */
  older: string | null;
  pending: { runId: string; text: string; time: number }[];
  outbox: Outgoing[];
  runs: Run[];
  /** Counts changes, so that an answer can be told from what came after it was asked for. */
  moment: number;
}

export const empty: State = {
  sessionId: null,
  messages: [],
  older: null,
  pending: [],
  outbox: [],
  runs: [],
  moment: 1,
};

interface Block {
  type?: string;
  text?: string;
  id?: string;
  name?: string;
  arguments?: unknown;
  sha256?: string;
  bytes?: number;
}

const blocksOf = (content: unknown): Block[] =>
  Array.isArray(content) ? content.filter((block): block is Block => typeof block === 'object' && block !== null) : [];

/** Text of a message's blocks. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return blocksOf(content)
    .filter(({ type, text }) => type === 'text' && typeof text === 'string')
    .map(({ text }) => text)
    .join('\n\n');
}

/** Stored files of a message's blocks. */
const filesOf = (content: unknown): StoredFile[] =>
  blocksOf(content).flatMap(({ type, name, sha256, bytes }) =>
    type === 'file' && typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)
      ? [{ name: typeof name === 'string' && name !== '' ? name : sha256, sha256, bytes: Number(bytes) || 0 }]
      : [],
  );

/** Messages of a transcript: results of tools are put to their calls. */
export function messagesOf(raw: readonly RawMessage[]): Message[] {
  const messages: Message[] = [];
  const calls = new Map<string, { tool: Tool; at: number }>();
  for (const [index, item] of raw.entries()) {
    const mark = item.__openclaw ?? {};
    const time = item.timestamp ?? 0;
    if (item.role === 'toolResult') {
      const call = calls.get(item.toolCallId ?? '');
      if (!call) continue;
      call.tool.ok = item.isError !== true;
      call.tool.result = textOf(item.content);
      call.tool.ms = Math.max(0, time - call.at);
      continue;
    }
    const tools = blocksOf(item.content)
      .filter(({ type }) => type === 'toolCall')
      .map(({ id, name, arguments: args }): Tool => ({
        id: id ?? '',
        name: name ?? '',
        args,
        ok: null,
        result: '',
        ms: null,
      }));
    for (const tool of tools) calls.set(tool.id, { tool, at: time });
    const own = /^(.+):user$/.exec(mark.idempotencyKey ?? '')?.[1];
    messages.push({
      key: mark.id ?? `${item.role} ${time} ${index}`,
      seq: mark.seq ?? 0,
      role: item.role === 'user' || item.role === 'assistant' ? item.role : 'system',
      text: mark.truncated ? '' : textOf(item.content),
      files: filesOf(item.content),
      time,
      tools,
      runId: own ?? null,
      saidBy: mark.runId ?? null,
      fromAgent: mark.fromAgent ?? null,
      byProgram: mark.provenance === 'internal_system',
      stopped: item.stopReason === 'aborted',
      error: item.errorMessage ?? null,
      placeholder: mark.truncated ? ((mark.reason as Placeholder | undefined) ?? 'oversized') : null,
    });
  }
  return messages;
}

/**
 * The newest messages, which replace what was there; `asked` is the moment at which they were asked for. Older pages stay if these overlap
 * with what was there: then nothing is missing in between. What came of runs and messages before that moment is in them.
 */
export function withHistory(state: State, history: History, asked: number): State {
  const fresh = messagesOf(history.messages);
  const first = fresh[0];
  const same = state.sessionId === (history.sessionId ?? null);
  const keys = new Set(fresh.map(({ key }) => key));
  const joined = same && first !== undefined && state.messages.some(({ key }) => keys.has(key));
  const before = joined ? state.messages.filter(({ seq }) => seq < first.seq) : [];
  const messages = [...before, ...fresh];
  const inTranscript = new Set(messages.map(({ runId }) => runId));
  // A run that waits for a person is in the queue again, and its message in the transcript.
  const pending = (history.pendingInputs?.items ?? [])
    .filter(({ runId }) => !inTranscript.has(runId))
    .map(({ runId, message, acceptedAt }) => ({ runId, text: textOf(message.content), time: acceptedAt }));
  const called = new Set(fresh.flatMap(({ tools }) => tools.map(({ id }) => id)));
  const known = new Set([...messages.flatMap(({ runId }) => runId ?? []), ...pending.map(({ runId }) => runId)]);
  return {
    ...state,
    sessionId: history.sessionId ?? null,
    messages,
    older: joined ? state.older : (history.nextCursor ?? null),
    pending,
    outbox: state.outbox
      .filter(({ key }) => !known.has(key))
      .map((item) => (item.state === 'accepted' && item.moment <= asked ? { ...item, state: 'command' } : item)),
    runs: state.runs
      .filter((run) => run.state === 'running' || run.moment > asked)
      .map((run) => ({
        ...run,
        earlier: run.earlier.filter(({ moment }) => moment > asked),
        tools: run.tools.filter(({ id }) => !called.has(id)),
      })),
  };
}

/** Messages before the first, of a page that was asked for with a cursor. */
export function withOlder(state: State, history: History, cursor: string): State {
  if (state.older !== cursor) return state;
  const keys = new Set(state.messages.map(({ key }) => key));
  const fresh = messagesOf(history.messages).filter(({ key }) => !keys.has(key));
  return { ...state, messages: [...fresh, ...state.messages], older: history.nextCursor ?? null };
}

export interface ChatEvent {
  runId: string;
  sessionKey: string;
  state: string;
  message?: RawMessage;
  errorMessage?: string;
}

const started = (runId: string, time: number): Run => ({
  runId,
  text: '',
  earlier: [],
  tools: [],
  state: 'running',
  error: null,
  moment: 0,
  time,
});

function changeRun(state: State, runId: string, time: number, change: (run: Run, moment: number) => Run): State {
  const moment = state.moment + 1;
  const known = state.runs.some((run) => run.runId === runId);
  const runs = known ? state.runs : [...state.runs, started(runId, time)];
  return { ...state, moment, runs: runs.map((run) => (run.runId === runId ? change(run, moment) : run)) };
}

/** An event chat: the text so far, or the end of a run. A text replaces the one before it, so that none is shown twice. */
export function withChat(state: State, event: ChatEvent, time: number): State {
  const text = event.message ? textOf(event.message.content) : null;
  return changeRun(state, event.runId, event.message?.timestamp ?? time, (run, moment) => {
    if (event.state === 'delta') return run.state === 'running' ? { ...run, text: text ?? run.text } : run;
    const end = event.state === 'aborted' || event.state === 'error' ? event.state : 'final';
    return {
      ...run,
      text: text ?? (end === 'final' ? '' : run.text),
      state: end,
      error: event.errorMessage ?? null,
      moment,
    };
  });
}

export interface AgentEvent {
  runId: string;
  sessionKey: string;
  stream: string;
  ts?: number;
  data?: { phase?: string; name?: string; toolCallId?: string; args?: unknown; isError?: boolean };
}

/** An event agent: the beginning of a run, or a tool. */
export function withAgent(state: State, event: AgentEvent, time: number): State {
  const { stream, data = {} } = event;
  const at = event.ts ?? time;
  if (stream === 'lifecycle' && data.phase === 'start') return changeRun(state, event.runId, at, (run) => run);
  if (stream !== 'tool') return state;
  const id = data.toolCallId ?? '';
  return changeRun(state, event.runId, at, (run, moment) => {
    if (data.phase === 'result') {
      return {
        ...run,
        tools: run.tools.map((tool) =>
          tool.id === id ? { ...tool, ok: data.isError !== true, ms: tool.ms === null ? null : at - tool.ms } : tool,
        ),
      };
    }
    const earlier = run.text === '' ? run.earlier : [...run.earlier, { text: run.text, moment }];
    // `ms` is the time of the beginning until the result is there.
    const tool: Tool = { id, name: data.name ?? '', args: data.args, ok: null, result: '', ms: at };
    // A call that waited for a person begins once more.
    const others = run.tools.filter((other) => other.id !== id);
    return { ...run, text: '', earlier, tools: [...others, tool] };
  });
}

export function withOutgoing(state: State, key: string, text: string, time: number): State {
  if (state.outbox.some((item) => item.key === key)) return state;
  const after = state.messages.at(-1)?.key ?? null;
  const item: Outgoing = { key, text, time, state: 'sending', error: null, after, moment: 0 };
  return { ...state, moment: state.moment + 1, outbox: [...state.outbox, item] };
}

export function withSent(state: State, key: string, result: 'accepted' | 'failed', error = ''): State {
  const moment = state.moment + 1;
  return {
    ...state,
    moment,
    outbox: state.outbox.map((item) =>
      item.key === key ? { ...item, state: result, error: result === 'failed' ? error : null, moment } : item,
    ),
  };
}

export const withoutOutgoing = (state: State, key: string): State => ({
  ...state,
  outbox: state.outbox.filter((item) => item.key !== key),
});

/** A connection ended: what runs have said meanwhile is not known, and the next history has what they said before. */
export const withoutRuns = (state: State): State => ({ ...state, runs: [] });

export type Row =
  | { kind: 'message'; key: string; message: Message }
  | { kind: 'run'; key: string; run: Run }
  | { kind: 'outgoing'; key: string; item: Outgoing; ahead: number | null };

/**
 * What a run has said that the transcript does not have yet; null if its last words are there. The transcript may come before the event that
 * ends the run, and before that of a tool, so that both would be shown for a moment.
 */
function notShownYet(run: Run, messages: Message[]): Run | null {
  const said = messages.filter(({ saidBy }) => saidBy === run.runId);
  if (said.length === 0) return run;
  const isOver = said.some(
    ({ tools, text, error }) =>
      tools.length === 0 && (run.state !== 'running' || (error === null && text.startsWith(run.text))),
  );
  if (isOver) return null;
  const known = new Set(run.tools.map(({ id }) => id));
  const ahead = said.some(
    ({ tools, text }) => tools.length > 0 && !tools.some(({ id }) => known.has(id)) && text.startsWith(run.text),
  );
  const called = new Set(said.flatMap(({ tools }) => tools.map(({ id }) => id)));
  return {
    ...run,
    text: ahead ? '' : run.text,
    earlier: run.earlier.filter(({ text }) => !said.some((message) => message.text === text)),
    tools: run.tools.filter(({ id }) => !called.has(id)),
  };
}

/**
 * What is shown, in order: the transcript, runs that this page did not start, and then each message that waits, with its run. A message of this page
 * keeps its key when it becomes the server's.
 */
export function rowsOf(state: State, running: number): Row[] {
  const rows: Row[] = [];
  const commands = new Map<string | null, Outgoing[]>();
  const keys = new Set(state.messages.map(({ key }) => key));
  for (const item of state.outbox.filter((item) => item.state === 'command')) {
    const after = item.after !== null && keys.has(item.after) ? item.after : null;
    commands.set(after, [...(commands.get(after) ?? []), item]);
  }
  const said = (after: string | null) => {
    for (const item of commands.get(after) ?? []) {
      rows.push({ kind: 'outgoing', key: `own ${item.key}`, item, ahead: null });
    }
  };
  if (state.older === null) said(null);
  for (const message of state.messages) {
    rows.push({ kind: 'message', key: message.runId ? `own ${message.runId}` : message.key, message });
    said(message.key);
  }
  const waiting: { key: string; item: Outgoing; ahead: number | null }[] = state.pending.map(
    ({ runId, text, time }, index) => ({
      key: runId,
      item: { key: runId, text, time, state: 'accepted', error: null, after: null, moment: 0 },
      ahead: index + running,
    }),
  );
  for (const item of state.outbox) {
    if (item.state !== 'command') waiting.push({ key: item.key, item, ahead: null });
  }
  const shown = ({ text, earlier, tools, state: now, error }: Run) =>
    now === 'running' || text !== '' || error !== null || earlier.length > 0 || tools.length > 0;
  const own = new Set(waiting.map(({ key }) => key));
  const runs = state.runs.flatMap((run) => notShownYet(run, state.messages) ?? []);
  for (const run of runs) {
    if (!own.has(run.runId) && shown(run)) rows.push({ kind: 'run', key: `run ${run.runId}`, run });
  }
  for (const { key, item, ahead } of waiting) {
    const run = runs.find(({ runId }) => runId === key);
    rows.push({ kind: 'outgoing', key: `own ${key}`, item, ahead: run ? null : ahead });
    if (run && shown(run)) rows.push({ kind: 'run', key: `run ${run.runId}`, run });
  }
  return rows;
}
