package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// hands has eden hand something over to seum, without waiting.
func (team *liveTeam) hands(t *testing.T, message, payload string) messenger.Result {
	t.Helper()
	return invokes[messenger.Result](t, team.client, map[string]any{"name": "sessions_send", "agentId": "eden",
		"args": map[string]any{"agentId": "seum", "message": message, "payloadJson": payload, "timeoutSeconds": 0, "replyBack": false}})
}

// handoffs are all handoffs, the first one first.
func (team *liveTeam) handoffs(t *testing.T) []monitor.HandoffAnswer {
	t.Helper()
	list := read[struct{ Handoffs []monitor.HandoffAnswer }](t, team.reloading, "/api/a2a/handoffs").Handoffs
	slices.Reverse(list)
	return list
}

// sentBy is the a2a.send of a flow.
func (team *liveTeam) sentBy(t *testing.T, jobID string) fact {
	t.Helper()
	return team.awaits(t, "what is sent by "+jobID, func(f *fact) bool { return f.Type == coordination.TypeA2ASend && f.JobID == jobID })
}

const (
	firstQuestion = `{"type":"question","questionId":"q1","question":"Which port?","urgency":"urgent"}`
	otherQuestion = `{"type":"question","questionId":"q1","question":"Which host?"}`
	nextQuestion  = `{"type":"question","questionId":"q2","question":"Which protocol?"}`
	itsAnswer     = `{"type":"answer","questionId":"q2","answer":"WebSocket","confidence":0.9}`
	delegation    = `{"type":"task_delegation","taskId":"task_9","taskTitle":"Ports","taskDescription":"List all ports"}`
	itsReport     = `{"type":"status_report","taskId":"task_9","status":"completed","completedWork":"all listed"}`
	brokenReport  = `{"type":"status_report","status":"perhaps"}`
)

// A structured handoff is read as such by the agent, paired with its reply, not repeated while it is open, and left out with a warning
// if it is malformed.
func TestAgentsHandThingsOver(t *testing.T) {
	t.Parallel()
	ready := make(gate)
	team := startTeam(t, []string{"eden", "seum"}, func(a a2atest.Asked) a2atest.Answer {
		replies := func(payload string) a2atest.Answer {
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": "eden", "message": "here it is [NO_REPLY_NEEDED]", "payloadJson": payload, "timeoutSeconds": 0}))
		}
		switch {
		case a.Agent == "seum" && a.AfterTool():
			return a2atest.Say("I have sent it")
		case a.Agent == "seum" && strings.Contains(a.Message(), "(question)") && strings.Contains(a.Message(), "q2"):
			return replies(itsAnswer)
		case a.Agent == "seum" && strings.Contains(a.Message(), "(task_delegation)"):
			return replies(itsReport)
		case a.Agent == "seum":
			ready.pass(a.Context)
		}
		return a2atest.Say("very well")
	})

	first := team.hands(t, "tell me", firstQuestion)
	if first.Status != "accepted" || first.PayloadType != "question" || first.Duplicate || len(first.PayloadWarnings) != 0 {
		t.Errorf("a question: %+v", first)
	}
	again := team.hands(t, "tell me, please", firstQuestion)
	if !again.Duplicate || again.RunID != first.RunID || again.JobID != first.JobID || again.ConversationID != first.ConversationID {
		t.Errorf("the same once more: %+v, at first %+v", again, first)
	}
	changed := team.hands(t, "tell me something else", otherQuestion)
	if changed.Duplicate || changed.JobID == first.JobID || len(changed.PayloadWarnings) != 1 || !strings.Contains(changed.PayloadWarnings[0], first.RunID) {
		t.Errorf("another one about the same: %+v", changed)
	}
	if e := team.sentBy(t, changed.JobID); !slices.Equal(e.PayloadWarnings, changed.PayloadWarnings) || e.PayloadType != "question" {
		t.Errorf("its event: %+v", e)
	}
	broken := team.hands(t, "how it stands", brokenReport)
	wrong := []string{"taskId 필드가 필요합니다", "status는 in_progress | completed | blocked | failed 중 하나여야 합니다"}
	if broken.Status != "accepted" || broken.PayloadType != "" || !slices.Equal(broken.PayloadWarnings, wrong) {
		t.Errorf("a malformed one: %+v", broken)
	}
	if e := team.sentBy(t, broken.JobID); e.PayloadType != "" || !slices.Equal(e.PayloadWarnings, wrong) || e.Message != "how it stands" {
		t.Errorf("its event: %+v", e)
	}
	if open := team.handoffs(t); len(open) != 2 || open[0].State != "replaced" || open[1].State != "open" || open[1].Subject != "q1" {
		t.Errorf("while nothing is answered: %+v", open)
	}
	ready.open()
	next, given := team.hands(t, "and this", nextQuestion), team.hands(t, "do this", delegation)
	for _, one := range []messenger.Result{first, changed, broken, next, given} {
		team.ended(t, one.JobID)
	}
	answered := map[string]int64{}
	for _, f := range team.facts(t, coordination.TypeA2AResponse, coordination.TypeA2ASend) {
		switch {
		case f.Type == coordination.TypeA2ASend && f.FromAgent == "seum":
			answered[f.PayloadType] = f.Seq
			team.ended(t, f.JobID) // it is read in a run of its own
		case f.JobID == changed.JobID && f.InResponseToPayloadType == "question":
			answered["reply"] = f.Seq
		}
	}
	type pair struct {
		job, kind, subject, state, status string
		by                                int64
	}
	var got []pair
	for _, h := range team.handoffs(t) {
		p := pair{job: h.JobID, kind: string(h.Type), subject: h.Subject, state: h.State, status: h.Status}
		if h.AnsweredSeq != nil {
			p.by = *h.AnsweredSeq
		}
		got = append(got, p)
	}
	want := []pair{{first.JobID, "question", "q1", "replaced", "", 0}, {changed.JobID, "question", "q1", "answered", "", answered["reply"]},
		{next.JobID, "question", "q2", "answered", "", answered["answer"]},
		{given.JobID, "task_delegation", "task_9", "answered", "completed", answered["status_report"]}}
	if !slices.Equal(got, want) || len(answered) != 3 {
		t.Errorf("what was handed over and what came back:\n%+v\nwant\n%+v, %v", got, want, answered)
	}
	checkRead(t, team.models.Asked())
}

// checkRead checks what agents read of what is handed over to them.
func checkRead(t *testing.T, asked []a2atest.Asked) {
	t.Helper()
	var read []string
	for _, a := range asked {
		read = append(read, a.Message())
	}
	for _, want := range []string{
		"[eden] (question): tell me\n\n--- 구조화 페이로드 ---\n질문 ID: q1\n질문: Which port?\n긴급도: urgent",
		"[eden] (question): and this\n\n--- 구조화 페이로드 ---\n질문 ID: q2\n질문: Which protocol?",
		"[eden] (task_delegation): do this\n\n--- 구조화 페이로드 ---\n작업 ID: task_9\n제목: Ports\n설명: List all ports",
		"[seum] (answer): here it is [NO_REPLY_NEEDED]\n\n--- 구조화 페이로드 ---\n질문 ID: q2\n답변: WebSocket\n신뢰도: 90%",
		"[seum] (status_report): here it is [NO_REPLY_NEEDED]\n\n--- 구조화 페이로드 ---\n작업 ID: task_9\n상태: completed\n완료 내용: all listed",
		"[eden]: how it stands",
	} {
		if !slices.Contains(read, want) {
			t.Errorf("no agent reads\n%s\nbut\n%s", want, strings.Join(read, "\n"))
		}
	}
}
