package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// flowHistory has a flow between agents in each phase and with each end, and structured handoffs among them, as they are produced. Each type
// occurs with all members of its data filled.
func flowHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	add := func(stream, typ string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 4}), Type: typ, AgentID: "eden", Actor: eventstore.ActorAgent,
			TS: goldenTime.UnixMilli() - 3_600_000 + int64(n)*1_000, CorrelationID: "corr-golden", CausationID: "cause-golden", Data: text,
		}}})
	}
	at := func(n int64) int64 { return goldenTime.UnixMilli() - 3_600_000 + n*1_000 }
	const conversation = "conversation/golden-conversation"
	context := func(c *coordination.Context, role coordination.Role) {
		c.EventRole, c.ConversationID, c.ParentConversationID = role, "golden-conversation", ""
	}
	created := func(id string, change func(*coordination.A2AJobCreated)) {
		add(coordination.JobStream(id), coordination.TypeA2AJobCreated, filled(func(c *coordination.A2AJobCreated) {
			context(&c.Context, coordination.RoleOrchestration)
			c.JobID, c.Kind, c.Phase, c.DueAtMs, c.RequesterSessionKey = id, "send", "waiting", at(330), "agent:eden:main"
			c.PayloadType, c.PayloadJSON, c.PayloadSubject, c.PayloadHash = "", "", "", ""
			c.Label, c.Model, c.Thinking, c.RunMs, c.Cleanup = "", "", "", nil, ""
			if change != nil {
				change(c)
			}
		}))
	}
	does := func(id, typ string, change func(*coordination.A2AJob)) {
		add(coordination.JobStream(id), typ, filled(func(j *coordination.A2AJob) {
			context(&j.Context, coordination.RoleOrchestration)
			j.JobID, j.Kind, j.Phase, j.DueAtMs, j.Speaker, j.Turn, j.RunID, j.Attempt, j.Post = id, "send", "", 0, "", 0, "", 0, ""
			j.LastText, j.ResumeCount, j.Outcome, j.Reason, j.By, j.Error = "", 0, "", "", "", ""
			change(j)
		}))
	}
	comes := func(id, phase, runID, speaker string, turn int, last string) {
		does(id, coordination.TypeA2AJobRunning, func(j *coordination.A2AJob) {
			j.Phase, j.RunID, j.Speaker, j.Turn, j.LastText, j.Attempt, j.DueAtMs = phase, runID, speaker, turn, last, 1, at(400)
		})
	}
	ends := func(id, typ, outcome string) {
		does(id, typ, func(j *coordination.A2AJob) {
			j.Outcome, j.Reason, j.By, j.Error, j.LastText = outcome, "golden", "cli", "golden", "좋아"
		})
	}
	sends := func(id string, change func(*coordination.A2ASend)) {
		add(conversation, coordination.TypeA2ASend, filled(func(s *coordination.A2ASend) {
			context(&s.Context, coordination.RoleConversation)
			s.JobID, s.RunID, s.PayloadType, s.PayloadJSON = id, id, "", ""
			if change != nil {
				change(s)
			}
		}))
	}
	hands := func(id, typ, subject, payload string) {
		created(id, func(c *coordination.A2AJobCreated) {
			c.PayloadType, c.PayloadSubject, c.PayloadHash, c.PayloadJSON = typ, subject, "sha256:"+id, payload
		})
		sends(id, func(s *coordination.A2ASend) { s.PayloadType, s.PayloadJSON = typ, payload })
	}

	created("golden-completed", nil)
	sends("golden-completed", nil)
	add(coordination.RunStream("golden-completed"), coordination.TypeRunQueued, filled(func(q *coordination.RunQueued) {
		context(&q.Context, coordination.RoleObservability)
		q.RunID, q.JobID, q.SessionKey, q.Lane, q.Cause, q.RetryOf, q.OnRestart, q.Reset = "golden-completed", "golden-completed", "agent:seum:main", "nested", "a2a", "", "retry", ""
		q.Content, q.DueAtMs = nil, at(4)
	}))
	comes("golden-completed", "turn", "golden-completed.t1", "eden", 1, "좋아")
	comes("golden-completed", "turn", "golden-completed.t2", "seum", 2, "그럼")
	comes("golden-completed", "announcing", "golden-completed.a", "seum", 2, "끝")
	does("golden-completed", coordination.TypeA2AJobRunning, func(j *coordination.A2AJob) {
		j.Phase, j.Turn, j.Attempt, j.DueAtMs, j.Post, j.Reason = "posting", 2, 1, at(8), "알립니다", "explicit_skip"
	})
	add(conversation, coordination.TypeA2AResponse, filled(func(r *coordination.A2AResponse) {
		context(&r.Context, coordination.RoleConversation)
		r.JobID, r.FromAgent, r.ToAgent, r.PayloadType, r.PayloadJSON, r.Outcome = "golden-completed", "seum", "eden", "", "", ""
	}))
	add(conversation, coordination.TypeA2AComplete, filled(func(c *coordination.A2AComplete) {
		context(&c.Context, coordination.RoleConversation)
		c.JobID, c.Outcome = "golden-completed", ""
	}))
	ends("golden-completed", coordination.TypeA2AJobCompleted, "")
	created("golden-failed", nil)
	ends("golden-failed", coordination.TypeA2AJobFailed, "no_reply")
	created("golden-abandoned", nil)
	does("golden-abandoned", coordination.TypeA2AJobResumed, func(j *coordination.A2AJob) { j.ResumeCount = 1 })
	ends("golden-abandoned", coordination.TypeA2AJobAbandoned, "abandoned")
	created("골든 / cancelled", nil) // its stream has a hash for a name
	ends("골든 / cancelled", coordination.TypeA2AJobCancelled, "cancelled")
	created("golden-waiting", nil)
	created("golden-again", nil)
	does("golden-again", coordination.TypeA2AJobRunning, func(j *coordination.A2AJob) {
		j.Phase, j.RunID, j.Speaker, j.Attempt, j.DueAtMs = "waiting", "golden-again.r2", "seum", 2, at(500)
	})
	does("golden-again", coordination.TypeA2AJobResumed, func(j *coordination.A2AJob) { j.ResumeCount = 1 })
	created("golden-dispatching", func(c *coordination.A2AJobCreated) { c.Phase = "dispatching" })
	created("golden-spawn", func(c *coordination.A2AJobCreated) {
		c.Kind, c.TargetSessionKey, c.Label, c.Model, c.Thinking, c.Cleanup = "spawn", "agent:seum:subagent:golden-spawn", "찾아보기", "fake/echo-1", "low", "keep"
	})

	hands("golden-question", "question", "q1", `{"type":"question","questionId":"q1","question":"언제?"}`)
	hands("golden-delegation", "task_delegation", "t1", `{"type":"task_delegation","taskId":"t1","taskTitle":"배포","taskDescription":"한다"}`)
	ends("golden-question", coordination.TypeA2AJobFailed, "no_reply")
	hands("golden-asked-again", "question", "q1", `{"type":"question","questionId":"q1","question":"언제쯤?"}`)
	ends("golden-completed", coordination.TypeA2AJobCancelled, "cancelled") // changes nothing
	return appends
}
