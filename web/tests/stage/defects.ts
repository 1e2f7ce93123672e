import type { Line } from './server.ts';

/**
 * A team whose log has what the first Task-Hub showed badly: markers of outcomes, ids as first messages, mentions of people who are not known,
 * Markdown, and escapes, in messages, replies, reasons and tasks.
 */
export function defectLines(): Line[] {
  const ts = Date.parse('2026-11-22T20:00:00Z');
  const texts = [
    'task_0123456789abcdef0123',
    '작업 task_0123456789abcdef0123을(를) 다시 해 주세요',
    '<@1465892> 이 건 확인 부탁해요 <@!998877> <@&5544>',
    '## 계획\n\n- **첫째** `코드`\n- 둘째 ~~취소~~\n\n| 표 | 칸 |\n|---|---|\n| 1 | 2 |\n\n```js\nconst a = 1;\n```',
    '[outcome] blocked: LLM request rejected',
    '[outcome] no_reply: 대기 시간 300초 초과',
  ];
  const states = ['blocked', 'no_reply', 'done'];
  return texts.flatMap((message, index): Line[] => {
    const common = {
      fromAgent: 'eden',
      toAgent: 'seum',
      conversationId: `defect-${index}`,
      workSessionId: `ws_defect_${index}`,
      eventRole: 'conversation.main',
      fromSessionType: 'main',
      toSessionType: 'main',
      taskId: 'task_0123456789abcdef0123',
    };
    return [
      { type: 'a2a.send', agentId: 'eden', ts: ts + index * 60_000, data: { ...common, message, runId: `d-${index}` } },
      {
        type: 'a2a.response',
        agentId: 'seum',
        ts: ts + index * 60_000 + 30_000,
        data: {
          ...common,
          fromAgent: 'seum',
          toAgent: 'eden',
          message: index < 4 ? `답입니다: ${message}` : message,
          replyPreview: message,
          ...(index >= 4
            ? {
                outcome: states[index - 4],
                waitStatus: 'timeout',
                waitError: message.replace(/^\[outcome\] \w+: /, ''),
              }
            : {}),
        },
      },
    ];
  });
}

export const defectTeam = [
  { id: 'eden', name: '이든' },
  { id: 'seum', name: '세움' },
];
