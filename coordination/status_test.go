package coordination

import "testing"

func TestTerminal(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		typ, data string
		want      bool
	}{
		{"a2a.complete", `{}`, true},
		{"a2a.spawn_result", `{"status":"error"}`, true},
		{"a2a.spawn_result", `{"status":"accepted"}`, false},
		{"continuation.complete", `{}`, true},
		{"continuation.completed", `{}`, true},
		{"continuation.sent", `{}`, false},
		{"task.completed", `{}`, true},
		{"task.force_completed", `{}`, true},
		{"task.cancelled", `{}`, true},
		{"task.updated", `{"status":"abandoned"}`, true},
		{"task.updated", `{"status":"failed"}`, true},
		{"task.updated", `{"status":"Completed"}`, false},
		{"task.updated", `{"status":"blocked"}`, false},
		{"task.updated", `{}`, false},
		{"a2a.response", `{"status":"completed"}`, false},
		{"plan.rejected", `{"status":"failed"}`, false},
		{"a2a.spawn_result", `{"status":"killed"}`, true},
		{"run.ended", `{}`, true},
		{"run.failed", `{}`, true},
		{"run.aborted", `{}`, true},
		{"run.timed_out", `{}`, true},
		{"run.queued", `{}`, false},
		{"run.started", `{}`, false},
		{"a2a.job.completed", `{}`, true},
		{"a2a.job.failed", `{}`, true},
		{"a2a.job.abandoned", `{}`, true},
		{"a2a.job.cancelled", `{}`, true},
		{"a2a.job.created", `{}`, false},
		{"a2a.job.running", `{}`, false},
		{"a2a.job.resumed", `{}`, false},
		{"a2a.forbidden", `{}`, true},
		{"a2a.dispatch_failed", `{}`, true},
		{"a2a.send.policy_rejected", `{}`, true},
		{"a2a.retry", `{}`, false},
		{"a2a.concurrency.throttle", `{}`, false},
	} {
		for _, rules := range []Rules{RulesV1, RulesV2} {
			r := read(t, rules, tt.typ, "eden", tt.data)
			if Terminal(rules, &r) != tt.want {
				t.Errorf("%s %s %s: terminal is %v", rules, tt.typ, tt.data, !tt.want)
			}
		}
	}
	beside := ReadRecord(RulesV1, "task.updated", "eden", 1, 1, []byte(`{}`), []byte(`{"status":"cancelled","ts":1}`))
	if !Terminal(RulesV1, &beside) {
		t.Error("the status beside data is not looked at")
	}
	both := ReadRecord(RulesV1, "task.updated", "eden", 1, 1, []byte(`{"status":"blocked"}`), []byte(`{"status":"cancelled","ts":1}`))
	if Terminal(RulesV1, &both) {
		t.Error("the status beside data wins over the one in it")
	}
}

func TestSessionStatus(t *testing.T) {
	t.Parallel()

	const day = ArchiveAfterMs
	for _, tt := range []struct {
		name           string
		age            float64
		terminal, open bool
		want           Status
	}{
		{"fresh", 0, false, false, StatusActive},
		{"ended", 0, true, false, StatusQuiet},
		{"ended, another thread open", 0, true, true, StatusActive},
		{"not ended, nothing open", 0, false, false, StatusActive},
		{"exactly a day", day, true, false, StatusQuiet},
		{"more than a day", day + 0.5, true, false, StatusArchived},
		{"more than a day, open", day + 1, false, true, StatusArchived},
		{"in the future", -1, false, false, StatusActive},
	} {
		if got := SessionStatus(1e12, 1e12-tt.age, tt.terminal, tt.open); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestThreadStep(t *testing.T) {
	t.Parallel()

	open := func(outcome Outcome, reason string) Step {
		return Step{Affects: true, Open: true, Outcome: outcome, Reason: reason}
	}
	over := func(outcome Outcome, reason string) Step {
		return Step{Affects: true, Outcome: outcome, Reason: reason}
	}
	for _, tt := range []struct {
		name, typ, data string
		want            Step
	}{
		{"send", "a2a.send", `{"message":"[outcome] blocked: quoted"}`, open(OutcomeWaiting, "")},
		{"spawn", "a2a.spawn", `{}`, open(OutcomeWaiting, "")},
		{"spawn accepted", "a2a.spawn_result", `{"status":"accepted"}`, open(OutcomeWaiting, "")},
		{"spawn failed", "a2a.spawn_result", `{"status":"error","error":"gateway closed"}`, over(OutcomeBlocked, "gateway closed")},
		{"answer", "a2a.response", `{"message":"네"}`, open(OutcomeActive, "")},
		{"blocked by outcome", "a2a.response", `{"outcome":"blocked","waitError":"LLM request rejected"}`, open(OutcomeBlocked, "LLM request rejected")},
		{"blocked by text", "a2a.response", `{"message":"[outcome] blocked: 응답을 받지 못했습니다 (실행 오류)"}`, open(OutcomeBlocked, "실행 오류")},
		{"no reply by outcome", "a2a.response", `{"outcome":"no_reply","waitStatus":"timeout","message":"[outcome] blocked: 응답을 받지 못했습니다 (대기 시간 300초 초과)"}`, open(OutcomeNoReply, "대기 시간 300초 초과")},
		{"an error that contradicts the status", "a2a.response", `{"outcome":"blocked","waitStatus":"timeout","waitError":"LLM request rejected","message":"[outcome] blocked: 응답 없음 (대기 시간 300초 초과)"}`, open(OutcomeBlocked, "대기 시간 300초 초과")},
		{"the same, no text", "a2a.complete", `{"outcome":"no_reply","waitStatus":"timeout","error":"401"}`, over(OutcomeNoReply, waitReasons["timeout"])},
		{"an error that does not", "a2a.response", `{"outcome":"no_reply","waitStatus":"timeout","waitError":"request timed out"}`, open(OutcomeNoReply, "request timed out")},
		{"an error of a class", "a2a.response", `{"outcome":"no_reply","waitStatus":"timeout","errorClass":"auth","waitError":"401"}`, open(OutcomeNoReply, "401")},
		{"no reply by text", "a2a.response", `{"replyPreview":"[outcome] no_reply: 응답을 받지 못했습니다"}`, open(OutcomeNoReply, "")},
		{"no reply, wait status only", "a2a.response", `{"outcome":"no_reply","waitStatus":"not_found"}`, open(OutcomeNoReply, waitReasons["not_found"])},
		{"complete", "a2a.complete", `{"announced":true}`, over(OutcomeDone, "")},
		{"complete, no permit", "a2a.complete", `{"concurrencyBlocked":true}`, over(OutcomeBlocked, reasonBusy)},
		{"complete, failed", "a2a.complete", `{"outcome":"failed","error":"panic"}`, over(OutcomeBlocked, "panic")},
		{"complete, no reply", "a2a.complete", `{"outcome":"no_reply","waitStatus":"timeout"}`, over(OutcomeNoReply, waitReasons["timeout"])},
		{"complete, wait status alone", "a2a.complete", `{"waitStatus":"timeout"}`, over(OutcomeDone, "")},
		{"a secret in the reason", "a2a.response", `{"outcome":"blocked","waitError":"401 for sk-abcdefghijklmnop1234"}`, open(OutcomeBlocked, "401 for ***")},
		{"spawn killed", "a2a.spawn_result", `{"status":"killed"}`, over(OutcomeBlocked, "")},
		{"complete, killed", "a2a.complete", `{"outcome":"killed","error":"by main"}`, over(OutcomeBlocked, "by main")},
		{"complete, cancelled", "a2a.complete", `{"outcome":"cancelled"}`, over(OutcomeBlocked, "")},
		{"complete, too long", "a2a.complete", `{"outcome":"timeout","waitStatus":"timeout"}`, over(OutcomeNoReply, waitReasons["timeout"])},
		{"retry", "a2a.retry", `{}`, Step{}},
		{"task", "task.started", `{}`, Step{}},
		{"delegation failed", "delegation.failed", `{"status":"failed","error":"boom"}`, Step{}},
		{"delegation rejected", "delegation.rejected", `{"status":"rejected","reason":"too short"}`, Step{}},
		{"delegation tried again", "delegation.retrying", `{"status":"retrying","reason":"use a ladder"}`, Step{Settles: true}},
		{"delegation abandoned", "delegation.abandoned", `{"status":"abandoned","error":"boom"}`, Step{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := read(t, RulesV2, tt.typ, "eden", tt.data)
			got := ThreadStep(&r)
			if failed := got.Outcome == OutcomeBlocked || got.Outcome == OutcomeNoReply; failed != (got.Code != "") || got.Affects && got.Code != ReasonOf(&r) {
				t.Errorf("code %q of %+v, which the event says is %q", got.Code, got, ReasonOf(&r))
			}
			if got.Code = ""; got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestTaskStateOf(t *testing.T) {
	t.Parallel()

	in := func(state string) TaskChange { return TaskChange{Affects: true, State: state} }
	guess := TaskChange{Affects: true, State: StateInProgress, OnlyIfUnknown: true}
	for _, tt := range []struct {
		typ, data string
		want      TaskChange
	}{
		{"task.started", `{"requiresApproval":false}`, in(StateInProgress)},
		{"task.started", `{"requiresApproval":true}`, in(StatePendingApproval)},
		{"task.approved", `{}`, in(StateInProgress)},
		{"task.resumed", `{}`, in(StateInProgress)},
		{"task.backlog_picked", `{}`, in(StateInProgress)},
		{"backlog.auto_picked", `{}`, in(StateInProgress)},
		{"task.blocked", `{"reason":"x"}`, in(StateBlocked)},
		{"task.backlog_added", `{}`, in(StateBacklog)},
		{"task.completed", `{}`, in(StateCompleted)},
		{"task.completed", `{"status":"abandoned"}`, in(StateAbandoned)},
		{"task.completed", `{"status":"in_progress"}`, in(StateCompleted)},
		{"task.force_completed", `{}`, in(StateCompleted)},
		{"task.cancelled", `{}`, in(StateCancelled)},
		{"task.updated", `{"status":"failed"}`, in(StateFailed)},
		{"task.updated", `{"status":"interrupted"}`, in(StateInterrupted)},
		{"task.updated", `{"status":"thinking"}`, guess},
		{"task.updated", `{"progressCount":3}`, guess},
		{"task.stop_guard_blocked", `{}`, guess},
		{"zombie.abandoned", `{"action":"moved_to_backlog"}`, in(StateBacklog)},
		{"zombie.abandoned", `{"action":"escalated"}`, in(StateInterrupted)},
		{"continuation.sent", `{"status":"completed"}`, TaskChange{}},
		{"a2a.send", `{"taskId":"t1"}`, TaskChange{}},
	} {
		r := read(t, RulesV2, tt.typ, "eden", tt.data)
		if got := TaskStateOf(&r); got != tt.want {
			t.Errorf("%s %s: %+v, want %+v", tt.typ, tt.data, got, tt.want)
		}
	}
}
