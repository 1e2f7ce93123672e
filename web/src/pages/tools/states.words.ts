import type { Schemas } from '$lib/api/client';
import { dictionary, type Word } from '$lib/i18n/index.svelte';
import type { Tone } from '$lib/ui/Badge.svelte';

export const callStates: Record<Schemas['ToolCallState'], Word> = dictionary({
  open: { ko: '하는 중', en: 'under way' },
  ok: { ko: '끝남', en: 'done' },
  error: { ko: '실패', en: 'failed' },
  unknown: { ko: '알 수 없음', en: 'unknown' },
});
export const callTones: Record<Schemas['ToolCallState'], Tone> = {
  open: 'active',
  ok: 'done',
  error: 'blocked',
  unknown: 'no_reply',
};

export const serverStates: Record<Schemas['MCPState'], Word> = dictionary({
  idle: { ko: '쉼', en: 'not started yet' },
  starting: { ko: '시작하는 중', en: 'starting' },
  ready: { ko: '연결됨', en: 'connected' },
  down: { ko: '쓸 수 없음', en: 'not available' },
  disabled: { ko: '꺼짐', en: 'disabled' },
});
export const serverTones: Record<Schemas['MCPState'], Tone> = {
  idle: 'quiet',
  starting: 'waiting',
  ready: 'done',
  down: 'blocked',
  disabled: 'quiet',
};
