import { expect, test } from './stage/snapshot.ts';

const words = {
  ko: { active: '진행 중', waiting: '대기 중', blocked: '막힘', no_reply: '답 없음', done: '완료' },
  en: { active: 'active', waiting: 'waiting', blocked: 'blocked', no_reply: 'no reply', done: 'done' },
} as Record<string, Record<string, string>>;

for (const language of ['ko', 'en'] as const) {
  test(`T-D5 the badge of each work session and conversation is the server's outcome (${language})`, async ({
    snapshot,
  }) => {
    const { views, sessions } = await snapshot(language);
    let compared = 0;
    for (const { source, path, rows, head } of views.filter(({ path }) => /^c[/?]/.test(path))) {
      const known = new Map(sessions[source].map((session) => [session.workSessionId, session]));
      const word = (outcome: string | null | undefined) => (outcome ? words[language]![outcome]! : '');
      for (const { row, badge } of rows) {
        const [ws, thread] = row.split(/ (.*)/s);
        const session = known.get(ws!);
        const outcome = thread ? session?.threads.find(({ id }) => id === thread) : session;
        if (!outcome) continue; // conversations with sub-agents are not in the list of main ones
        expect(badge.toLowerCase(), `${source} ${path} ${row}`).toBe(word(outcome.outcome));
        compared++;
      }
      const open = /^c\/([^/?]+)(?:\/([^/?]+))?/.exec(path);
      if (!open || !head) continue;
      const session = known.get(decodeURIComponent(open[1]!))!;
      const thread = open[2] && session.threads.find(({ id }) => id === decodeURIComponent(open[2]!));
      expect(head.badge.toLowerCase(), `${source} ${path}`).toBe(word(thread ? thread.outcome : session.outcome));
      compared++;
    }
    expect(compared).toBeGreaterThan(100);
  });
}
