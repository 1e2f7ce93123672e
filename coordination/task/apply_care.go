package task

import (
	"slices"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
)

// takeAway puts a task that nobody works at into the backlog, or interrupts it where that was done too often.
func (t *Task) takeAway(d coordination.ZombieAbandoned) bool {
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
	t.note(d.Progress)
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

// maxUnblockFailures is how many requests in a row may fail to arrive before nobody is asked any more.
const maxUnblockFailures = 3

// askUnblock notes that an agent was asked to help, that a request did not arrive, or, where no target is named, that nobody is asked any more.
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
	t.note(d.Progress)
	return true
}
