package coordination_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

func TestAbout(t *testing.T) {
	t.Parallel()
	titles := map[string]string{"task_a1": "정산 배치"}
	for _, c := range []struct{ typ, data, want string }{
		{"task.started", `{"taskId":"task_b2","description":"로그 정리\n\n자세히"}`, "로그 정리"},
		{"task.started", `{"taskId":"task_a1"}`, "정산 배치"},
		{"task.updated", `{"taskId":"task_a1","progress":"둘째 단계\n 끝","summary":"s"}`, "정산 배치: 둘째 단계 끝"},
		{"task.updated", `{"taskId":"task_a1","progress":7}`, "정산 배치"},
		{"task.updated", `{"taskId":"task_a1","action":"complete_step","stepId":"s2","progress":"[s2] Completed: 확인","steps":[{"id":"s2","content":"확인","status":"done","order":2},{"id":"s3","content":"배포","status":"in_progress","order":3}]}`, "정산 배치: ✓ 확인"},
		{"task.updated", `{"taskId":"task_a1","action":"start_step","stepId":"s2","progress":"이제 확인","steps":[{"id":"s2","content":"확인","status":"in_progress","order":2}]}`, "정산 배치: 이제 확인"},
		{"task.updated", `{"taskId":"task_a1","action":"set_steps","progress":"Steps defined: 2","steps":[{"id":"s1","content":"확인","status":"pending","order":1},{"id":"s2","content":"배포","status":"pending","order":2}]}`, "정산 배치: 확인 · 배포"},
		{"task.blocked", `{"taskId":"task_a1","reason":"키 대기 (task_a1)"}`, "정산 배치: 키 대기"},
		{"task.blocked", `{"taskId":"task_unknown9","reason":"키 대기"}`, "키 대기"},
		{"task.completed", `{"taskId":"task_a1","summary":"끝냄"}`, "정산 배치: 끝냄"},
		{"plan.rejected", `{"taskId":"task_a1","planId":"plan_1","title":"나눠서 배포","reason":"너무 큼"}`, "나눠서 배포: 너무 큼"},
		{"continuation.sent", `{"taskId":"task_a1","reason":"self_driving"}`, "정산 배치"},
		{"continuation.backoff", `{"taskId":"task_a1","reason":"timeout","error":"queue full"}`, "정산 배치: queue full"},
		{"unblock.requested", `{"taskId":"task_a1","targetAgentId":"seum"}`, "정산 배치"},
		{"run.queued", `{"taskId":"task_a1"}`, ""},
		{"a2a.send", `{"taskId":"task_a1","message":"안녕"}`, ""},
		{"task.updated", `null`, ""},
	} {
		r := coordination.ReadRecord(coordination.RulesV2, c.typ, "eden", 1, 1, []byte(c.data), nil)
		title, said := coordination.About(&r, []byte(c.data), nil, func(id string) string { return titles[id] })
		if got := strings.Trim(title+": "+said, ": "); got != c.want {
			t.Errorf("%s %s is about %q, want %q", c.typ, c.data, got, c.want)
		}
	}
}
