package handoff_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination/handoff"
)

// What a target reads is the text of seed 002 §4.4, to the byte.
func TestMessageIsThatOfTheSeed(t *testing.T) {
	t.Parallel()
	if m := handoff.Message("agent-a", "안녕하세요", nil); m != "[agent-a]: 안녕하세요" {
		t.Error(m)
	}
	for text, want := range map[string]string{
		whole[handoff.TaskDelegation]: "[eden] (task_delegation): 부탁해요\n\n--- 구조화 페이로드 ---\n작업 ID: task-001\n제목: API 문서 작성\n" +
			"설명: sessions_send 도구의 payloadJson 파라미터 문서화\n우선순위: high\n기한: 2026-02-20T18:00:00+09:00",
		least[handoff.TaskDelegation]: "[eden] (task_delegation): 부탁해요\n\n--- 구조화 페이로드 ---\n작업 ID: t\n제목: a\n설명: b",
		`{"type":"task_delegation","taskId":"t","taskTitle":"a","taskDescription":"b\nc","deadline":"","context":"x"}`: "[eden] (task_delegation): 부탁해요\n\n" +
			"--- 구조화 페이로드 ---\n작업 ID: t\n제목: a\n설명: b\nc",
		whole[handoff.StatusReport]: "[eden] (status_report): 부탁해요\n\n--- 구조화 페이로드 ---\n작업 ID: task-001\n상태: blocked\n완료 내용: 초안\n블로커: 권한 없음, 키 없음",
		least[handoff.StatusReport]: "[eden] (status_report): 부탁해요\n\n--- 구조화 페이로드 ---\n작업 ID: t\n상태: in_progress",
		`{"type":"status_report","taskId":"t","status":"failed","completedWork":"","blockers":[]}`: "[eden] (status_report): 부탁해요\n\n--- 구조화 페이로드 ---\n" +
			"작업 ID: t\n상태: failed",
		`{"type":"status_report","taskId":"t","status":"failed","blockers":[""]}`: "[eden] (status_report): 부탁해요\n\n--- 구조화 페이로드 ---\n작업 ID: t\n상태: failed\n블로커: ",
		whole[handoff.Question]: "[eden] (question): 부탁해요\n\n--- 구조화 페이로드 ---\n질문 ID: q-001\n질문: 기준이 몇 퍼센트인가요?\n긴급도: urgent",
		least[handoff.Question]: "[eden] (question): 부탁해요\n\n--- 구조화 페이로드 ---\n질문 ID: q\n질문: a",
		whole[handoff.Answer]:   "[eden] (answer): 부탁해요\n\n--- 구조화 페이로드 ---\n질문 ID: q-001\n답변: 80입니다\n신뢰도: 88%",
		least[handoff.Answer]:   "[eden] (answer): 부탁해요\n\n--- 구조화 페이로드 ---\n질문 ID: q\n답변: b",
	} {
		if m := handoff.Message("eden", "부탁해요", parse(t, text)); m != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, m, want)
		}
	}
}

// A half goes up, as in the reference, and none is not the same as 0.
func TestConfidenceIsRoundedAsInTheReference(t *testing.T) {
	t.Parallel()
	for confidence, want := range map[string]string{
		"0": "0%", "-0": "0%", "1": "100%", "0.285": "28%", "0.125": "13%", "0.005": "1%", "0.00499": "0%", "0.994": "99%", "0.995": "100%", "1e-400": "0%", "5e-1": "50%",
	} {
		p := parse(t, `{"type":"answer","questionId":"q","answer":"a","confidence":`+confidence+`}`)
		if s := p.Summary(); s != "질문 ID: q\n답변: a\n신뢰도: "+want {
			t.Errorf("%s: %s", confidence, s)
		}
	}
}
