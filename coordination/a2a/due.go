package a2a

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Due checks a flow whose time has come. r is the current state of the run that it waits for, nil if there is none. It
// changes only DueAt while there is still time, and nothing in phase posting, which Posted handles.
func Due(f *Flow, r *run.Result, before string, jitter float64, now int64) Step {
	switch {
	case !f.Phase.Open(), f.Phase == Posting:
		return Step{}
	case f.Redacted:
		return f.gone()
	case f.Phase == Dispatching:
		if now < f.DueAt {
			return Step{}
		}
		return f.noPermit()
	case r == nil:
		return f.overdue(statusNotFound, before, now)
	case r.State.Over() && f.waitsFor(r):
		return Ended(f, r, before, jitter, now)
	}
	if due := f.nextDue(r, now); due > now {
		return Step{Events: []Event{f.putOff(due)}}
	}
	return f.overdue(statusTimeout, before, now)
}

// nextDue is when a flow with an open run is checked again; its time counts from the beginning of the run.
func (f *Flow) nextDue(r *run.Result, now int64) int64 {
	switch {
	case Kind(f.Kind) == Spawn:
		return now + f.childMs(now) // its run has a time-out of its own
	case r.StartedAt == 0:
		return now + f.allowance()
	}
	return r.StartedAt + f.allowance()
}

func (f *Flow) allowance() int64 {
	if f.Phase == Waiting {
		return f.waitMs()
	}
	return TurnMs
}

// noPermit ends a flow that has waited for a permit too long.
func (f *Flow) noPermit() Step {
	s := Step{Events: []Event{f.concurrency(coordination.TypeA2AConcurrencyTimeout, f.Active, f.Queued)}}
	return f.silent(s, silence{outcome: coordination.OutcomeValueBlocked, status: statusQueue, blocked: true})
}

// overdue continues without the run that a flow waits for. The run itself continues: its effects may be wanted.
func (f *Flow) overdue(status, before string, now int64) Step {
	if Kind(f.Kind) == Spawn {
		return f.childOver(result{outcome: coordination.OutcomeValueFailed, status: status})
	}
	switch f.Phase {
	case Turn:
		ended := endedTimeout
		if status != statusTimeout {
			ended = endedError
		}
		return f.wrapUp(Step{}, f.Turn-1, ended, before, "", now)
	case Announcing:
		s := f.finish(Step{}, endData{taken: f.taken(), ended: f.EndedEarly, err: "announce: " + status})
		s.StopRun = f.RunID // it has no other purpose
		return s
	}
	return f.silent(Step{}, silence{outcome: coordination.OutcomeValueNoReply, status: status})
}

// resumeMs is the minimum time before a flow is checked after a restart, while its run is resumed.
const resumeMs = 60_000

// Resume handles an open flow at program start: it continues, or is abandoned after StaleMs or MaxResumes restarts
// without progress. A flow that waits for a permit is left alone.
func Resume(f *Flow, now int64) Step {
	switch {
	case !f.Phase.Open(), f.Phase == Dispatching:
		return Step{}
	case f.Redacted:
		return f.gone()
	case now-f.ChangedAt > StaleMs:
		return f.giveUp(coordination.OutcomeValueAbandoned, statusAbandoned, "it has not come on for an hour")
	case f.Resumed >= MaxResumes:
		return f.giveUp(coordination.OutcomeValueAbandoned, statusAbandoned, "restarts have broken it off too often")
	}
	s := Step{Events: []Event{f.job(coordination.TypeA2AJobResumed, coordination.A2AJob{
		Phase: string(f.Phase), Speaker: f.Speaker, Turn: f.Turn, RunID: f.RunID, Attempt: f.Attempt, ResumeCount: f.Resumed + 1,
	})}}
	if f.Phase != Posting && f.DueAt < now+resumeMs {
		s.Events = append(s.Events, f.putOff(now+resumeMs))
	}
	return s
}
