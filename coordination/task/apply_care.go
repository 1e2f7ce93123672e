package task

import (
	"slices"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
)

// abandon returns an abandoned task to the backlog, or interrupts it after too many returns.
func (t *Task) abandon(d coordination.ZombieAbandoned) bool {
	state := coordination.StateBacklog
	if d.Action == coordination.ZombieEscalated {
		state = coordination.StateInterrupted
	}
	if !t.enter(state, d.Context) {
		return false
	}
	t.Outcome = Outcome{}
	if state == coordination.StateInterrupted {
		t.Outcome = Outcome{Kind: coordination.StateInterrupted, Reason: idleFor(d.AgeHours)}
	}
	if t.Backlog.Reassigned++; d.ReassignCount > 0 {
		t.Backlog.Reassigned = d.ReassignCount
	}
	t.addProgress(d.Progress)
	return true
}

func idleFor(hours float64) string {
	if hours <= 0 {
		return "nobody worked at it"
	}
	return "nobody worked at it for " + strconv.FormatFloat(hours, 'f', 0, 64) + " h"
}

// Values of Blocked.Escalation.
const (
	escalationNone       = "none"
	escalationRequesting = "requesting"
	escalationFailed     = "failed"
)

// maxUnblockFailures is the number of undelivered requests in a row after which no agent is asked any more.
const maxUnblockFailures = 3

// askUnblock records a request for help, an undelivered one, or, without a target, that no agent is asked any more.
func (t *Task) askUnblock(typ string, d coordination.Unblock, ts int64) bool {
	if t.Status != coordination.StateBlocked {
		return false
	}
	t.join(d.Context)
	if i := slices.Index(t.Blocked.By, d.TargetAgentID); i >= 0 {
		t.Blocked.LastIndex = i
	}
	switch {
	case typ == coordination.TypeUnblockRequested:
		if t.Blocked.Requests++; d.RequestCount > 0 {
			t.Blocked.Requests = d.RequestCount
		}
		t.Blocked.LastAskedAt, t.Blocked.Escalation, t.Blocked.Failures = ts, escalationRequesting, 0
	case d.TargetAgentID == "":
		t.Blocked.Escalation = escalationFailed
	default:
		if t.Blocked.Failures++; d.Failures > 0 {
			t.Blocked.Failures = d.Failures
		}
		if t.Blocked.Failures >= maxUnblockFailures {
			t.Blocked.Escalation = escalationFailed
		}
	}
	t.addProgress(d.Progress)
	return true
}
