/**
 * @typedef {object} Break A defect of the first Task-Hub, and how to put it back.
 * @property {string} name
 * @property {string} defect What people saw.
 * @property {[file: string, now: string, then: string][]} edits Texts of files in src/, each there exactly once, and what stands there instead.
 * @property {string} test Pattern of the title of the test that must turn red.
 * @property {RegExp} because What that test says then: a test that fails for another reason proves nothing.
 */

/** @type {Break[]} */
export const breaks = [
  {
    name: 'outcome',
    defect: 'raw "[outcome] blocked:" in messages',
    edits: [
      ['pages/conversations/model.ts', 'text: textOf(event.displayText),', 'text: textOf(Object(event.data).message),'],
      [
        'pages/conversations/model.ts',
        'parts: Array.isArray(record.displayParts) ? (record.displayParts as Part[]) : null,',
        'parts: null,',
      ],
    ],
    test: 'T-D1 .*\\(ko\\)',
    because: /\[outcome\]/,
  },
  {
    name: 'bubble',
    defect: 'an answer that never came shown as a message',
    edits: [
      [
        'pages/conversations/model.ts',
        "state: state === 'blocked' || state === 'no_reply' ? state : null,",
        'state: null,',
      ],
    ],
    test: 'T-D1 .*\\(ko\\)',
    because: /toBeGreaterThan|대기 시간/,
  },
  {
    name: 'id',
    defect: 'ids as titles of work sessions',
    edits: [
      [
        'pages/conversations/SessionRow.svelte',
        '<Name text={session.title} />',
        '<Name text={session.workSessionId} />',
      ],
    ],
    test: 'T-D2 .*\\(ko\\)',
    because: /ws_/,
  },
  {
    name: 'task',
    defect: 'ids of tasks in messages',
    edits: [
      [
        'pages/conversations/Body.svelte',
        'link.append(named(part.ref.title || part.ref.id));',
        'link.append(named(part.ref.id));',
      ],
    ],
    test: 'T-D2 .*\\(ko\\)',
    because: /task_[0-9a-f]{4}/,
  },
  {
    name: 'mention',
    defect: 'mentions as <@1465892>',
    edits: [
      [
        'pages/conversations/Body.svelte',
        "element.append('@', shown ? named(shown) : `${t(w.unknownPerson)} …${userId.slice(-4)}`);",
        'element.textContent = `<@${userId}>`;',
      ],
    ],
    test: 'T-D3 .*\\(ko\\)',
    because: /<@\d+>/,
  },
  {
    name: 'markdown',
    defect: 'Markdown as it was written',
    edits: [['pages/conversations/Body.svelte', '<Markdown text={marked} />', '{marked}']],
    test: 'T-D4 .*\\(ko\\)',
    because: /\*\*|```|\|---|strong/,
  },
  {
    name: 'badges',
    defect: 'work sessions without their outcome',
    edits: [['pages/conversations/SessionRow.svelte', '<Badge outcome={session.outcome} bare iconOnly />', '']],
    test: 'T-D5 .*\\(ko\\)',
    because: /Received:\s*""/,
  },
  {
    name: 'green',
    defect: 'a green dot beside what is blocked, judged in the browser',
    edits: [
      [
        'pages/conversations/SessionRow.svelte',
        '<Badge outcome={session.outcome} bare iconOnly />',
        "<Badge outcome={session.status === 'ACTIVE' ? 'active' : 'done'} bare iconOnly />",
      ],
    ],
    test: 'T-D5 .*\\(ko\\)',
    because: /Expected:\s*"막힘"|Received:\s*"완료"/,
  },
  {
    name: 'filter',
    defect: 'no filter',
    edits: [
      [
        'pages/conversations/Page.svelte',
        "outcome: router.one('outcome'),\n    agent: router.one('agent'),",
        "agent: router.one('agent'),",
      ],
    ],
    test: 'T-D6 conversations can be searched and filtered',
    because: /toHaveCount/,
  },
  {
    name: 'search',
    defect: 'no search',
    edits: [
      [
        'pages/conversations/Page.svelte',
        "const words = $derived(router.one('q') ?? '');",
        "const words: string = '';",
      ],
    ],
    test: 'T-D6 conversations can be searched and filtered',
    because: /webhook|toBeLessThan/,
  },
  {
    name: 'header',
    defect: 'messages on the right without sender and time',
    edits: [
      ['pages/conversations/Message.svelte', '<header>', '{#if !right}<header>'],
      ['pages/conversations/Message.svelte', '</header>', '</header>{/if}'],
    ],
    test: 'T-D7 .*\\(ko\\)',
    because: /\\S→\\S/,
  },
  {
    name: 'escape',
    defect: '\\uB300\\uD654 instead of 대화',
    edits: [
      [
        'pages/conversations/words.ts',
        "pick: { ko: '작업 세션이나 대화를 고르세요.',",
        "pick: { ko: '작업 세션이나 \\\\uB300\\\\uD654를 고르세요.',",
      ],
    ],
    test: 'T-D8 .*\\(ko\\)',
    because: /uB300/,
  },
  {
    name: 'number',
    defect: 'numbers that nothing explains',
    edits: [['lib/ui/Section.svelte', '{title}{#if count !== undefined', '{#if count !== undefined']],
    test: 'T-D8 .*\\(ko\\)',
    because: /explained/,
  },
  {
    name: 'language',
    defect: 'two languages on one page',
    edits: [
      [
        'pages/conversations/words.ts',
        "openOnly: { ko: '열린 것만', en: 'Open only' }",
        "openOnly: { ko: '열림', en: '열림' }",
      ],
    ],
    test: 'T-D8 .*\\(en\\)',
    because: /열림/,
  },
];
