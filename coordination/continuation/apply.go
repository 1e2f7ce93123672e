package continuation

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Apply folds an event of the agent; agent is that of the event. It reports whether the event is relevant here. A
// redacted event (data nil) counts as far as its type alone says something. One that cannot be read is an error and
// changes nothing. ts is ms since 1970.
func (s *State) Apply(typ, agent string, data []byte, ts int64) (bool, error) {
	next := *s
	means, err := next.fold(typ, agent, data, ts)
	if err != nil {
		return false, fmt.Errorf("fold %s into the continuation of %s: %w", typ, agent, err)
	}
	if means {
		*s = next
	}
	return means, nil
}

func (s *State) fold(typ, agent string, data []byte, ts int64) (bool, error) {
	switch typ {
	case coordination.TypeContinuationSent:
		d, err := read[coordination.Continuation](data)
		return err == nil && s.sent(d, ts), err
	case coordination.TypeResumeReminderSent:
		d, err := read[coordination.Continuation](data)
		return err == nil && s.reminded(d, ts), err
	case coordination.TypeContinuationBackoff:
		d, err := read[coordination.Continuation](data)
		return err == nil && s.backoff(d, ts), err
	case coordination.TypeUnblockRequested, coordination.TypeUnblockFailed:
		d, err := read[coordination.Unblock](data)
		return err == nil && s.unblockAsked(typ, d, ts), err
	case coordination.TypeZombieAbandoned:
		d, err := read[coordination.ZombieAbandoned](data)
		s.Decided++
		s.leave(d.TaskID)
		return err == nil, err
	case coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut:
		d, err := read[coordination.RunOver](data)
		return err == nil && s.over(typ, agent, d, ts), err
	case coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted, coordination.TypeTaskCancelled, coordination.TypeTaskBlocked,
		coordination.TypeTaskResumed, coordination.TypeTaskBacklogPicked:
		d, err := read[struct{ TaskID string }](data)
		return err == nil && s.leave(d.TaskID), err
	}
	return false, nil
}

// read parses the data of an event. Redacted data is ignored.
func read[T any](data []byte) (d T, err error) {
	if len(data) > 0 {
		err = json.Unmarshal(data, &d)
	}
	return d, err
}

func (s *State) sent(d coordination.Continuation, ts int64) bool {
	s.prompted(d, ts)
	if d.TaskID != "" {
		s.tend(d.TaskID, s.care(d.TaskID).prompted(Reason(d.Reason), d.StepID, d.Measured, ts))
	}
	if Reason(d.Reason) == GatewayRestarted {
		s.SummaryAt = ts
	}
	return true
}

func (s *State) reminded(d coordination.Continuation, ts int64) bool {
	s.prompted(d, ts)
	if d.TaskID != "" {
		c := s.care(d.TaskID)
		c.RemindedAt, c.Reminders = ts, c.Reminders+1
		s.tend(d.TaskID, c)
	}
	return true
}

// prompted records that the agent itself was prompted, which answers the end of its last run.
func (s *State) prompted(d coordination.Continuation, ts int64) {
	s.Decided++
	s.Prompt = Sent{RunID: d.RunID, TaskID: d.TaskID, Reason: Reason(d.Reason), At: ts}
	s.Answered = s.Ended.RunID
}

// backoff stores the back-off in an event, possibly one of another gateway.
func (s *State) backoff(d coordination.Continuation, ts int64) bool {
	s.Decided++
	if d.BackoffMs > 0 || d.BackoffUntilMs > 0 {
		s.Failures, s.Cause, s.BackoffMs = d.ConsecutiveFailures, d.Reason, d.BackoffMs
		s.BackoffUntil = cmp.Or(d.BackoffUntilMs, ts+d.BackoffMs)
	}
	if Reason(d.Reason) == Overflow {
		s.Overflows = 0
	}
	s.BackoffTold = true
	return true
}

func (s *State) unblockAsked(typ string, d coordination.Unblock, ts int64) bool {
	s.Decided++
	if d.TaskID == "" {
		return true
	}
	c := s.care(d.TaskID)
	c.Asked = ""
	switch {
	case typ == coordination.TypeUnblockRequested:
		c.Reminders, c.RemindedAt, c.AskFailedAt, c.Asked = 0, 0, 0, d.RunID
	case d.TargetAgentID == "" && Reason(d.Reason) == DependencyGone:
		c.Gone = d.Dependency
	case d.TargetAgentID == "":
		c.Told = true
	default:
		c.AskFailedAt = ts
	}
	s.tend(d.TaskID, c)
	return true
}

// over folds the end of a run. Only runs of the main session count: those of other sessions were not requested here,
// and do not show that the agent is idle. The end of a prompt's run is recognised by its id in any session.
func (s *State) over(typ, agent string, d coordination.RunOver, ts int64) bool {
	ours := d.RunID != "" && d.RunID == s.Prompt.RunID && !s.Prompt.Over
	if d.RunID == "" || !ours && d.SessionKey != coordination.MainKey(agent).String() {
		return false
	}
	s.Ended = End{RunID: d.RunID, At: ts, OK: typ == coordination.TypeRunEnded,
		BrokenOff: typ == coordination.TypeRunAborted && (d.Reason == "restart" || d.Reason == "shutdown")}
	if ours {
		s.Prompt.Over = true
		if c, tended := s.Tasks[s.Prompt.TaskID]; tended && !s.Ended.OK {
			s.tend(s.Prompt.TaskID, c.unprompted(s.Prompt.Reason))
		}
	}
	switch typ {
	case coordination.TypeRunEnded:
		s.well()
	case coordination.TypeRunFailed, coordination.TypeRunTimedOut:
		if ours {
			s.failed(typ, d, ts)
		}
	}
	return true
}

// well ends the back-off: the agent can be reached.
func (s *State) well() {
	s.Failures, s.Overflows, s.Cause, s.BackoffUntil, s.BackoffMs, s.BackoffTold, s.FailedTask, s.FailedRun = 0, 0, "", 0, 0, false, "", ""
}

// failed counts a failed prompt.
func (s *State) failed(typ string, d coordination.RunOver, ts int64) {
	class := d.ErrorClass
	if typ == coordination.TypeRunTimedOut {
		class = classTimeout
	}
	cause := CauseOf(class, d.Error)
	s.Failures++
	s.Overflows++
	if cause != CauseOverflow {
		s.Overflows = 0
	}
	pause := Backoff(cause, s.Failures, Hint(d.Error))
	s.Cause, s.BackoffMs, s.BackoffUntil, s.BackoffTold = string(cause), pause.Milliseconds(), ts+pause.Milliseconds(), false
	s.FailedTask, s.FailedRun = s.Prompt.TaskID, d.RunID
}
