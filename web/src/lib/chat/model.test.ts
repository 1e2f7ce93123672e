import { describe, expect, it } from 'vitest';
import {
  empty,
  messagesOf,
  rowsOf,
  withAgent,
  withChat,
  withHistory,
  withOlder,
  withOutgoing,
  withoutRuns,
  withSent,
  type History,
  type RawMessage,
  type State,
} from './model';

const text = (text: string) => [{ type: 'text', text }];
const user = (seq: number, said: string, run = ''): RawMessage => ({
  role: 'user',
  content: text(said),
  timestamp: seq,
  __openclaw: { id: `m${seq}`, seq, ...(run ? { idempotencyKey: `${run}:user` } : {}) },
});
const agent = (seq: number, said: string, runId?: string): RawMessage => ({
  role: 'assistant',
  content: text(said),
  timestamp: seq,
  __openclaw: { id: `m${seq}`, seq, runId },
});
const history = (messages: RawMessage[], more: Partial<History> = {}): History => ({
  sessionKey: 'agent:eden:main',
  sessionId: 's',
  messages,
  ...more,
});
const pending = (...runs: string[]): Partial<History> => ({
  pendingInputs: {
    items: runs.map((runId) => ({ runId, message: { role: 'user', content: text(`say ${runId}`) }, acceptedAt: 1 })),
    total: runs.length,
  },
});
const delta = (runId: string, said: string) => ({
  runId,
  sessionKey: 'agent:eden:main',
  state: 'delta',
  message: { role: 'assistant', content: text(said) },
});
const end = (runId: string, state: string, said?: string) => ({
  runId,
  sessionKey: 'agent:eden:main',
  state,
  ...(said === undefined ? {} : { message: { role: 'assistant', content: text(said) } }),
});

/** The rows as short texts: > own, < agent, ~ streaming. */
const shown = (state: State, running = 0): string[] =>
  rowsOf(state, running).map((row) => {
    if (row.kind === 'message') return `${row.message.role === 'user' ? '>' : '<'}${row.message.text}`;
    if (row.kind === 'outgoing') return `>${row.item.text} ${row.item.state}${row.ahead ? ` ${row.ahead}` : ''}`;
    return `~${[...row.run.earlier.map((part) => part.text), row.run.text].join('|')} ${row.run.state}`;
  });

describe('files of messages', () => {
  const sha256 = '0a'.repeat(32);
  const file = (more: object) => ({ type: 'file', name: 'a.png', mimeType: 'image/png', bytes: 7, sha256, ...more });

  it('are those that lie beside the log', () => {
    const content = [
      ...text('look'),
      file({}),
      file({ name: '' }),
      file({ sha256: '../x' }),
      file({ bytes: 'x' }),
      { type: 'file' },
    ];
    const [message] = messagesOf([{ role: 'user', content }]);
    expect(message?.text).toBe('look');
    expect(message?.files).toEqual([
      { name: 'a.png', sha256, bytes: 7 },
      { name: sha256, sha256, bytes: 7 },
      { name: 'a.png', sha256, bytes: 0 },
    ]);
  });

  it('are none in a text', () => {
    expect(messagesOf([{ role: 'user', content: 'plain' }])[0]?.files).toEqual([]);
  });
});

describe('chat', () => {
  it('shows a message at once, and it becomes the server one in its place', () => {
    let state = withOutgoing(withHistory(empty, history([user(1, 'a'), agent(2, 'b')]), 1), 'k', 'hello', 3);
    expect(shown(state)).toEqual(['>a', '<b', '>hello sending']);
    const key = rowsOf(state, 0).at(-1)!.key;
    state = withSent(state, 'k', 'accepted');
    state = withChat(state, delta('k', 'on'), 4);
    expect(shown(state)).toEqual(['>a', '<b', '>hello accepted', '~on running']);
    state = withHistory(state, history([user(1, 'a'), agent(2, 'b'), user(3, 'hello', 'k')]), state.moment);
    expect(shown(state)).toEqual(['>a', '<b', '>hello', '~on running']);
    expect(rowsOf(state, 0)[2]!.key).toBe(key);
    state = withChat(state, delta('k', 'on it'), 5);
    state = withChat(state, end('k', 'final', 'on it.'), 6);
    expect(shown(state)).toEqual(['>a', '<b', '>hello', '~on it. final']);
    // A late text of a run that is over changes nothing.
    expect(withChat(state, delta('k', 'on'), 7).runs[0]!.text).toBe('on it.');
    const all = [user(1, 'a'), agent(2, 'b'), user(3, 'hello', 'k'), agent(4, 'on it.')];
    // An answer that was asked for before the end may lack it.
    expect(shown(withHistory(state, history(all.slice(0, 3)), state.moment - 1)).at(-1)).toBe('~on it. final');
    expect(shown(withHistory(state, history(all), state.moment))).toEqual(['>a', '<b', '>hello', '<on it.']);
  });

  it('does not add a message twice', () => {
    const state = withOutgoing(withOutgoing(empty, 'k', 'x', 1), 'k', 'x', 2);
    expect(shown(state)).toEqual(['>x sending']);
  });

  it('says how many are ahead, and puts an answer below its question', () => {
    let state = withHistory(empty, history([user(1, 'a', 'r1')], pending('r2', 'r3')), 1);
    state = withChat(state, delta('r1', 'one'), 2);
    expect(shown(state, 1)).toEqual(['>a', '~one running', '>say r2 accepted 1', '>say r3 accepted 2']);
    state = withChat(state, delta('r2', 'two'), 3);
    expect(shown(state, 1)).toEqual(['>a', '~one running', '>say r2 accepted', '~two running', '>say r3 accepted 2']);
  });

  it('keeps a command, which is in no transcript, above its answer', () => {
    let state = withHistory(empty, history([user(1, 'a')]), 1);
    state = withSent(withOutgoing(state, 'c', '/status', 2), 'c', 'accepted');
    state = withChat(state, end('c', 'final', 'fine'), 3);
    expect(shown(state)).toEqual(['>a', '>/status accepted', '~fine final']);
    state = withHistory(state, history([user(1, 'a'), agent(2, 'fine')]), state.moment);
    expect(shown(state)).toEqual(['>a', '>/status command', '<fine']);
  });

  it('goes on after a lost connection: history replaces the list, what was not sent stays', () => {
    let state = withHistory(empty, history([user(1, 'a', 'r1')]), 1);
    state = withChat(state, delta('r1', 'half'), 2);
    state = withOutgoing(state, 'k', 'more', 3);
    state = withoutRuns(state);
    expect(shown(state)).toEqual(['>a', '>more sending']);
    state = withHistory(state, history([user(1, 'a', 'r1'), agent(2, 'half and half')]), state.moment);
    expect(shown(state)).toEqual(['>a', '<half and half', '>more sending']);
  });

  it('has what was said before a tool once', () => {
    const called = (phase: string, ts: number) => ({
      runId: 'r',
      sessionKey: 'agent:eden:main',
      stream: 'tool',
      ts,
      data: { phase, name: 'tasks_list', toolCallId: 'c', args: { a: 1 } },
    });
    let state = withHistory(empty, history([user(1, 'a', 'r')]), 1);
    state = withChat(state, delta('r', 'let me see'), 2);
    state = withAgent(state, called('start', 100), 2);
    const asked = state.moment;
    state = withAgent(state, called('result', 112), 3);
    state = withChat(state, delta('r', 'there are two'), 4);
    expect(shown(state)).toEqual(['>a', '~let me see|there are two running']);
    expect(state.runs[0]!.tools[0]).toMatchObject({ name: 'tasks_list', ok: true, ms: 12 });
    const call = {
      ...agent(2, 'let me see'),
      content: [...text('let me see'), { type: 'toolCall', id: 'c', name: 'x' }],
    };
    state = withHistory(state, history([user(1, 'a', 'r'), call]), asked);
    expect(shown(state)).toEqual(['>a', '<let me see', '~there are two running']);
  });

  it('has a message once whose run waits in the queue again', () => {
    const items = [{ runId: 'r', message: user(1, 'a', 'r'), acceptedAt: 1 }];
    const state = withHistory(empty, history([user(1, 'a', 'r')], { pendingInputs: { items, total: 1 } }), 1);
    expect(shown(state)).toEqual(['>a']);
  });

  it('has a call once that waited for a person, and began once more after that', () => {
    const called = (phase: string, ts: number) => ({
      runId: 'r',
      sessionKey: 'agent:eden:main',
      stream: 'tool',
      ts,
      data: { phase, name: 'exec', toolCallId: 'c', args: {} },
    });
    let state = withAgent(empty, called('start', 100), 1);
    state = withAgent(state, called('start', 9000), 2);
    state = withAgent(state, called('result', 9012), 3);
    expect(state.runs[0]!.tools).toMatchObject([{ id: 'c', ok: true, ms: 12 }]);
  });

  it('has an answer once when the transcript comes before the events of the run', () => {
    const asked = withHistory(empty, history([user(1, 'a', 'r')]), 1);
    const half = withChat(asked, delta('r', 'on'), 2);
    const all = history([user(1, 'a', 'r'), agent(2, 'on it.', 'r')]);
    const early = withHistory(half, all, half.moment);
    expect(shown(early)).toEqual(['>a', '<on it.']);
    expect(shown(withChat(early, delta('r', 'on it.'), 3))).toEqual(['>a', '<on it.']);
    expect(shown(withChat(early, end('r', 'final', 'on it.'), 3))).toEqual(['>a', '<on it.']);
    // The end came while the transcript was on its way.
    const ended = withChat(half, end('r', 'final', 'on it.'), 3);
    expect(shown(ended)).toEqual(['>a', '~on it. final']);
    expect(shown(withHistory(ended, all, half.moment))).toEqual(['>a', '<on it.']);
    // A run that says more after its first answer, and another run, are shown.
    expect(shown(withChat(early, delta('r', 'and more'), 3))).toEqual(['>a', '<on it.', '~and more running']);
    expect(shown(withChat(early, delta('other', 'on'), 3))).toEqual(['>a', '<on it.', '~on running']);
    // A failed try whose text is in the transcript does not hide the next one.
    const failed = { ...agent(2, '', 'r'), errorMessage: 'no' };
    expect(shown(withHistory(half, history([user(1, 'a', 'r'), failed]), half.moment))).toEqual([
      '>a',
      '<',
      '~on running',
    ]);
  });

  it('has the words before a tool, and the tool, once when the transcript comes first', () => {
    const half = withChat(withHistory(empty, history([user(1, 'a', 'r')]), 1), delta('r', 'let me'), 2);
    const call = {
      ...agent(2, 'let me see', 'r'),
      content: [...text('let me see'), { type: 'toolCall', id: 'c', name: 'x' }],
    };
    const early = withHistory(half, history([user(1, 'a', 'r'), call]), half.moment);
    expect(shown(early)).toEqual(['>a', '<let me see', '~ running']);
    const started = withAgent(
      withChat(early, delta('r', 'let me see'), 3),
      { runId: 'r', sessionKey: '', stream: 'tool', ts: 3, data: { phase: 'start', name: 'x', toolCallId: 'c' } },
      3,
    );
    expect(shown(started)).toEqual(['>a', '<let me see', '~ running']);
    expect(rowsOf(started, 0).flatMap((row) => (row.kind === 'run' ? row.run.tools : []))).toEqual([]);
  });

  it('tells an end without words from one with', () => {
    const state = withHistory(empty, history([user(1, 'a', 'r')]), 1);
    expect(shown(withChat(state, end('r', 'final'), 2))).toEqual(['>a']);
    const half = withChat(state, delta('r', 'half'), 2);
    expect(shown(withChat(half, end('r', 'aborted'), 3))).toEqual(['>a', '~half aborted']);
    expect(shown(withChat(half, end('r', 'final'), 3))).toEqual(['>a']);
    expect(withChat(half, { ...end('r', 'error'), errorMessage: 'no' }, 3).runs[0]).toMatchObject({ error: 'no' });
  });

  it('reads pages upwards, and keeps them when the newest come again', () => {
    let state = withHistory(empty, history([user(11, 'k'), agent(12, 'l')], { nextCursor: '11.11' }), 1);
    const older = history([agent(2, 'b'), user(9, 'i'), agent(10, 'j')], { nextCursor: '2.2' });
    state = withOlder(state, older, '11.11');
    expect(withOlder(state, older, '11.11')).toBe(state);
    expect(shown(state)).toEqual(['<b', '>i', '<j', '>k', '<l']);
    state = withHistory(state, history([agent(12, 'l'), user(13, 'm')], { nextCursor: '12.12' }), state.moment);
    expect(shown(state)).toEqual(['<b', '>i', '<j', '>k', '<l', '>m']);
    expect(state.older).toBe('2.2');
    // Too much has come in between, or another transcript: only the newest is certain.
    const far = history([user(900, 'z')], { nextCursor: '900.900' });
    expect(shown(withHistory(state, far, state.moment))).toEqual(['>z']);
    const other = history([user(13, 'new')], { sessionId: 'other' });
    expect(shown(withHistory(state, other, state.moment))).toEqual(['>new']);
    expect(withHistory(state, other, state.moment).older).toBeNull();
  });

  it('puts results of tools to their calls', () => {
    const [message, none] = messagesOf([
      {
        role: 'assistant',
        content: [...text('x'), { type: 'toolCall', id: 'c', name: 'tasks_list', arguments: { a: 1 } }],
        timestamp: 100,
      },
      { role: 'toolResult', toolCallId: 'c', content: text('two'), isError: true, timestamp: 112 },
      { role: 'user', content: text('gone'), __openclaw: { truncated: true, reason: 'redacted' } },
    ]);
    expect(message!.tools).toEqual([{ id: 'c', name: 'tasks_list', args: { a: 1 }, ok: false, result: 'two', ms: 12 }]);
    expect(none).toMatchObject({ text: '', placeholder: 'redacted' });
  });
});
