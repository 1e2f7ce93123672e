import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { locale } from '../i18n/index.svelte';
import { programLine, promptLine } from './prompts';

const top = join(import.meta.dirname, '../../../..');
const sourceOf = (file: string) => readFileSync(join(top, file), 'utf8');

/** Where the program writes its prompts, and who gives them to agents with the mark by which the page knows them. */
const writers = [
  'coordination/continuation/prompts.go',
  'tools/tasktools/then.go',
  'tools/plantools/notify.go',
  'tools/collabtools/answered.go',
  'tools/collabtools/delivered.go',
  'tools/collabtools/tracker.go',
  'coordination/collaborate/plan.go',
];
const senders = [
  'services/continuer/perform.go',
  'services/scheduler/begin.go', // texts of people's own jobs, which begin as they like
  'tools/collabtools/session.go',
  'tools/plantools/notify.go',
  'tools/tasktools/then.go',
];

/** Beginnings of prompts in the sources, with arguments put in. */
function beginnings(): string[] {
  const formats = writers.flatMap((file) =>
    [...sourceOf(file).matchAll(/"(\[[A-Z%](?:[^"\\]|\\.)*)"(\+what\+"(?:[^"\\]|\\.)*")?/g)].map(([, text]) => text!),
  );
  const words = formats.flatMap((text) =>
    text.startsWith('[%s] Your plan') ? ['Approved', 'Rejected'].map((word) => text.replace('%s', word)) : text,
  );
  const what = ['Your request to %s was not posted', 'It is unknown whether your request to %s was posted'];
  const source = sourceOf('tools/collabtools/delivered.go');
  for (const text of what) expect(source).toContain(`"${text}"`);
  return [...words.filter((text) => text !== '['), ...what.map((text) => `[${text} (%s)]`)]
    .filter((text) => !/^\[(?:BLOCKED|UNBLOCK|FORCE|STOP)/.test(text))
    .map((text) =>
      text
        .replaceAll('\\n', '\n')
        .replace(/%(?:\.0f|[sdq])/g, '이든')
        .replaceAll('\\"', '"'),
    );
}

it('has a line in both languages for each prompt that the program writes', () => {
  const all = beginnings();
  expect(all.length).toBeGreaterThanOrEqual(24);
  for (const language of ['ko', 'en'] as const) {
    locale.language = language;
    const lines = all.map((text) => promptLine(text));
    expect(all.filter((_, index) => lines[index] === null)).toEqual([]);
    expect(new Set(lines).size, lines.join('\n')).toBe(all.length);
    for (const line of lines)
      expect(line).toMatch(language === 'ko' ? /^자동 안내: .*[가-힣]/ : /^Automatic: [^가-힣]*(?:이든[^가-힣]*)?$/);
  }
});

it('knows all who write such prompts', () => {
  const found = ['agent', 'channel', 'coordination', 'services', 'tools'].flatMap((folder) =>
    readdirSync(join(top, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
      .filter((file) => file.endsWith('.go') && !file.endsWith('_test.go'))
      .filter((file) => /"internal_system"/.test(sourceOf(file).replace(/\[\]string\{[^}]*\}/g, ''))),
  );
  expect(found.sort()).toEqual(senders);
});

it('names what a prompt is about', () => {
  locale.language = 'ko';
  const task = '\n\nTask: task_1\nPriority: high\nDescription: 로그인 고치기\n둘째 줄\n';
  expect(promptLine(`[Continue] Your task task_1 is not finished. Go on.${task}`)).toBe(
    '자동 안내: ‘로그인 고치기’ 작업의 다음 단계를 이어 가라는 안내',
  );
  expect(promptLine(`[eden]: [Unblock request 1 of 3] Agent eden cannot go on.${task}`)).toBe(
    '자동 안내: ‘로그인 고치기’ 작업이 막혀 있으니 풀어 달라는 요청',
  );
  expect(promptLine('[Approved] Your plan plan_1 for task task_1 was approved by 병욱.\n\nPlan: 배포 순서\n')).toBe(
    '자동 안내: ‘배포 순서’ 계획이 승인되었으니 그대로 하라는 알림',
  );
  expect(promptLine('[Restart] The gateway was restarted.')).toContain('서버가 다시 시작되었으니');
  expect(promptLine('[outcome] blocked: 응답을 받지 못했습니다')).toContain('답을 받지 못했다는');
  expect(promptLine('안녕하세요')).toBeNull();
  expect(programLine('Something new')).toBe('자동 안내: 프로그램이 에이전트에게 보낸 글');
  locale.language = 'en';
  expect(promptLine(`[Define steps] Your task task_1 has no steps yet.${task}`)).toBe(
    'Automatic: divide “로그인 고치기” into steps',
  );
});
