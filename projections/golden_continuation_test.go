package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// continuationHistory has agents that are kept going by everything that does so, and a plan in each state, as they are produced. Each type
// occurs with all members of its data filled.
func continuationHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	agent := "eden"
	add := func(stream, typ string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 6}), Type: typ, AgentID: agent, Actor: eventstore.ActorSystem,
			TS: goldenTime.UnixMilli() - 3_600_000 + int64(n)*1_000, CorrelationID: "corr-golden", CausationID: "cause-golden", Data: text,
		}}})
	}
	context := func(c *coordination.Context, id string) { c.TaskID, c.EventRole = id, coordination.RoleOrchestration }
	starts := func(id string) {
		add(coordination.TaskStream(id), coordination.TypeTaskStarted, filled(func(d *coordination.TaskStarted) {
			context(&d.Context, id)
			d.Steps[0] = coordination.TaskStep{ID: "s1", Content: "첫 단계", Status: "in_progress", Order: 1}
		}))
	}
	tells := func(typ, id, reason, run string) {
		add("agent/"+agent, typ, filled(func(d *coordination.Continuation) {
			context(&d.Context, id)
			d.Reason, d.RunID, d.StepID = reason, run, "s1"
			if typ != coordination.TypeContinuationBackoff {
				d.ConsecutiveFailures, d.BackoffMs, d.BackoffUntilMs = 0, 0, 0
			}
		}))
	}
	ends := func(typ, run, class, reason string) {
		key := coordination.MainKey(agent)
		add(coordination.RunStream(run), coordination.TypeRunQueued, filled(func(d *coordination.RunQueued) {
			d.RunID, d.SessionKey, d.Lane, d.Cause, d.RetryOf, d.OnRestart, d.Reset = run, key.String(), "main", "continuation", "", "report", ""
			d.Content, d.Provenance = json.RawMessage(`[{"type":"text","text":"…"}]`), "internal_system"
		}))
		add(coordination.RunStream(run), coordination.TypeRunStarted, filled(func(d *coordination.RunStarted) {
			d.RunID, d.SessionKey = run, key.String()
		}))
		add(coordination.RunStream(run), typ, filled(func(d *coordination.RunOver) {
			d.RunID, d.SessionKey, d.ErrorClass, d.Reason, d.Error = run, key.String(), class, reason, ""
		}))
	}
	asks := func(typ, id, target string) {
		add(coordination.TaskStream(id), typ, filled(func(d *coordination.Unblock) {
			context(&d.Context, id)
			d.TargetAgentID, d.RequestCount = target, 1
		}))
	}
	blocks := func(id string) {
		starts(id)
		add(coordination.TaskStream(id), coordination.TypeTaskBlocked, filled(func(d *coordination.TaskBlocked) { context(&d.Context, id) }))
	}
	zombie := func(id, action string) {
		add(coordination.TaskStream(id), coordination.TypeZombieAbandoned, filled(func(d *coordination.ZombieAbandoned) {
			context(&d.Context, id)
			d.Action = action
		}))
	}
	plans := func(typ, id string) {
		add(coordination.PlanStream(id), typ, filled(func(d *coordination.Plan) {
			context(&d.Context, "task_goes_on")
			d.PlanID, d.AgentID = id, "eden"
		}))
	}

	starts("task_goes_on")
	tells(coordination.TypeContinuationSent, "task_goes_on", "idle", "golden-prompt-1")
	ends(coordination.TypeRunFailed, "golden-prompt-1", "auth", "")
	tells(coordination.TypeContinuationBackoff, "task_goes_on", "billing", "golden-prompt-1")
	tells(coordination.TypeContinuationSent, "task_goes_on", "same_step", "골든 / prompt 2") // its stream has a hash for a name
	ends(coordination.TypeRunEnded, "골든 / prompt 2", "", "")
	blocks("task_unblocked")
	asks(coordination.TypeUnblockRequested, "task_unblocked", "seum")
	tells(coordination.TypeResumeReminderSent, "task_unblocked", "still_blocked", "golden-reminder")
	blocks("task_stays_blocked")
	asks(coordination.TypeUnblockRequested, "task_stays_blocked", "seum")
	asks(coordination.TypeUnblockFailed, "task_stays_blocked", "seum")
	asks(coordination.TypeUnblockFailed, "task_stays_blocked", "")
	starts("task_over")
	tells(coordination.TypeContinuationSent, "task_over", "self_driving", "golden-prompt-3")
	add(coordination.TaskStream("task_over"), coordination.TypeTaskCompleted, filled(func(d *coordination.TaskState) { context(&d.Context, "task_over") }))
	starts("task_left")
	zombie("task_left", coordination.ZombieMovedToBacklog)
	add(coordination.TaskStream("task_left"), coordination.TypeBacklogAutoPicked, filled(func(d *coordination.TaskState) {
		context(&d.Context, "task_left")
		d.Status = "in_progress"
	}))
	tells(coordination.TypeContinuationSent, "task_left", "backlog", "golden-prompt-4")
	ends(coordination.TypeRunAborted, "golden-prompt-4", "", "restart")
	tells(coordination.TypeContinuationSent, "task_left", "restart", "golden-prompt-5")
	plans(coordination.TypePlanSubmitted, "plan_pending")
	plans(coordination.TypePlanSubmitted, "plan_approved")
	plans(coordination.TypePlanSubmitted, "plan / 거절")
	agent = "seum"
	plans(coordination.TypePlanApproved, "plan_approved")
	plans(coordination.TypePlanRejected, "plan / 거절")
	starts("task_given_up")
	zombie("task_given_up", coordination.ZombieEscalated)
	tells(coordination.TypeContinuationSent, "task_given_up", "no_progress", "golden-prompt-6")
	ends(coordination.TypeRunTimedOut, "golden-prompt-6", "", "")
	agent = "ruda"
	tells(coordination.TypeContinuationBackoff, "", "context_reset", "")
	return appends
}
