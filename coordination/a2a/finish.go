package a2a

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
)

// endData is the content of the two events that end a flow.
type endData struct {
	outcome            string // of the job; "" is OutcomeOK
	taken              int    // turns
	ended              string // why there were no more turns
	announced, skipped bool
	err                string // what went wrong
	silence            silence
	by, why, last      string
}

// finish ends a flow whose answers, or their replacements, s contains or contained.
func (f *Flow) finish(s Step, e endData) Step {
	s.Over = true
	s.Events = append(s.Events, f.completed(e), f.jobEnded(e))
	return s
}

// silent ends a flow without a first answer, with the outcome that says so.
func (f *Flow) silent(s Step, why silence) Step {
	s.Events = append(s.Events, f.unanswered(why))
	return f.finish(s, endData{outcome: why.outcome, err: why.err, silence: why, skipped: true})
}

func (f *Flow) completed(e endData) Event {
	data := coordination.A2AComplete{
		Context: f.context(f.requester(), f.target()), FromAgent: f.FromAgent, ToAgent: f.ToAgent, TargetSessionKey: f.TargetSessionKey,
		RouteKey: f.routeKey(), RunID: f.JobID, JobID: f.JobID, Announced: e.announced, AnnounceSkipped: e.skipped, MessageIntent: f.MessageIntent,
		ConfiguredMaxTurns: f.ConfiguredMaxTurns, EffectiveTurns: f.turns(), ActualTurns: e.taken, EarlyTermination: e.ended != "",
		TerminationReason: e.ended, Outcome: e.outcome, WaitStatus: e.silence.status, WaitError: reason(e.silence.err),
		ErrorClass: e.silence.class, ConcurrencyBlocked: e.silence.blocked,
	}
	if e.silence.err == "" {
		data.Error = reason(e.err)
	}
	if Kind(f.Kind) == Spawn {
		data.TotalTurns = 1
	}
	return Event{coordination.TypeA2AComplete, f.FromAgent, data}
}

func (f *Flow) jobEnded(e endData) Event {
	return f.job(jobType(e.outcome), coordination.A2AJob{
		Turn: e.taken, RunID: f.RunID, Attempt: f.Attempt, LastText: e.last, Outcome: cmp.Or(e.outcome, OutcomeOK),
		Reason: cmp.Or(e.why, e.ended, e.silence.status), By: e.by, Error: reason(e.err),
	})
}

func jobType(outcome string) string {
	switch outcome {
	case "", OutcomeOK:
		return coordination.TypeA2AJobCompleted
	case coordination.OutcomeValueCancelled, coordination.OutcomeValueKilled:
		return coordination.TypeA2AJobCancelled
	case coordination.OutcomeValueAbandoned:
		return coordination.TypeA2AJobAbandoned
	}
	return coordination.TypeA2AJobFailed
}

// gone ends a flow whose request was redacted.
func (f *Flow) gone() Step {
	return f.giveUp(coordination.OutcomeValueFailed, statusError, "what was asked for was redacted")
}

// nameless reports whether the agents or the conversation of a flow are unknown: then only its job can be ended.
func (f *Flow) nameless() bool { return f.FromAgent == "" || f.ToAgent == "" || f.ConversationID == "" }

// breakOff ends an open flow in any phase. A missing first answer is replaced by an event with status and reason.
func (f *Flow) breakOff(e endData, status, why string) Step {
	e.taken, e.ended, e.skipped = f.taken(), f.EndedEarly, true
	if f.nameless() {
		return Step{Events: []Event{f.jobEnded(e)}, Over: true}
	}
	var s Step
	switch f.Phase {
	case Dispatching, Waiting:
		e.silence = silence{status: status, err: why}
		s.Events = append(s.Events, f.unanswered(silence{outcome: f.undelivered(e.outcome), status: status, err: why}))
	case Turn:
		e.ended = endedAborted
	}
	return f.finish(s, e)
}

// undelivered is the outcome of a response that is no longer awaited: for a sub-agent that of its flow, otherwise how
// far the message came.
func (f *Flow) undelivered(outcome string) string {
	switch {
	case Kind(f.Kind) == Spawn:
		return outcome
	case f.Phase == Dispatching:
		return coordination.OutcomeValueBlocked
	}
	return coordination.OutcomeValueNoReply
}

// Stop ends a flow on request. The outcome is cancelled, or killed for a sub-agent: then nothing is passed to its
// parent's session.
func Stop(f *Flow, by, why string, now int64) Step {
	if !f.Phase.Open() {
		return Step{}
	}
	e := endData{outcome: coordination.OutcomeValueCancelled, by: by, why: why}
	status := statusCancelled
	if Kind(f.Kind) == Spawn {
		e.outcome, status = coordination.OutcomeValueKilled, statusKilled
	}
	s := f.breakOff(e, status, why)
	if Kind(f.Kind) == Spawn && !f.nameless() {
		s.Events = slices.Insert(s.Events, 0, f.spawnResult(coordination.SpawnKilled, why))
	}
	s.StopRun = f.RunID
	return s
}

// Fail ends a flow after an internal error.
func Fail(f *Flow, why string, now int64) Step {
	if !f.Phase.Open() {
		return Step{}
	}
	return f.giveUp(coordination.OutcomeValueFailed, statusError, why)
}

// giveUp ends a flow that was not stopped on request, without its run's end. A parent is notified.
func (f *Flow) giveUp(outcome, status, why string) Step {
	if Kind(f.Kind) == Spawn && !f.nameless() {
		s := f.childOver(result{outcome: outcome, status: status, err: why})
		s.StopRun = f.RunID
		return s
	}
	return f.breakOff(endData{outcome: outcome, why: status, err: why}, status, why)
}

// StillWanted reports whether a run that has not started yet, or was interrupted by a restart, is still needed although
// its flow is over: the run of a message may be, because it may have left work half done. The runs of a stopped flow
// are not, nor those that only produce an answer that is no longer awaited. root is the first attempt of the run.
func StillWanted(kind Kind, outcome, jobID, root string) bool {
	switch {
	case root == jobID+reportSuffix:
		return true // it reports the end of the flow
	case outcome == coordination.OutcomeValueCancelled, outcome == coordination.OutcomeValueKilled, kind == Spawn:
		return false
	}
	return root != jobID+announceSuffix
}

// Refused handles a run that could not be queued, for the reason in why. s is the step that requested it, f the flow
// before that, which is ignored if s opens it, and may be nil then. Other events of s stay, and the flow continues
// without that run, or ends. The returned step replaces s, and may request another run.
func Refused(f *Flow, s Step, code, why string, now int64) Step {
	if len(s.Asks) == 0 {
		return s
	}
	ask := s.Asks[0]
	f = after(f, s, now)
	if Kind(f.Kind) == Spawn {
		return f.spawnRefused(s, ask, code, why)
	}
	s = Step{Events: append(slices.Clone(s.Events), f.dispatchFailed(ask.RunID, ask.Session.String(), code, why)), StopRun: s.StopRun}
	switch f.Phase {
	case Turn:
		latest := strings.TrimPrefix(ask.Message, handoff.Message(ask.FromAgent, "", nil))
		return f.wrapUp(s, f.Turn-1, endedError, latest, "", now)
	case Announcing:
		return f.finish(s, endData{taken: f.taken(), ended: f.EndedEarly, err: why})
	}
	if ask.RunID != f.JobID { // it was delivered, but cannot be again
		return f.silent(s, silence{outcome: coordination.OutcomeValueNoReply, status: statusError, err: why})
	}
	return f.silent(s, silence{outcome: coordination.OutcomeValueBlocked, status: statusDispatch, err: why})
}

// after is the flow after a step.
func after(f *Flow, s Step, now int64) *Flow {
	g := &Flow{}
	if f != nil {
		*g = *f
	}
	for _, e := range s.Events {
		switch data := e.Data.(type) {
		case coordination.A2AJobCreated:
			g.begin(data, 0, now)
		case coordination.A2AJob:
			if g.Phase.Open() {
				g.move(e.Type, &data, now)
			}
		}
	}
	return g
}
