package a2a

import (
	"cmp"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// BeginSpawn opens a flow of kind spawn, whose child begins at once. created is as for Begin; its Depth is the
// child's.
func BeginSpawn(created coordination.A2AJobCreated, now int64) Step {
	created.Kind, created.Phase = string(Spawn), string(Waiting)
	f := opened(created, now)
	return Step{
		Events: []Event{f.created(), f.spawned(), f.sent(nil), f.spawnResult(coordination.SpawnAccepted, "")},
		Asks:   []run.Ask{f.child()},
	}
}

// child requests the child's run.
func (f *Flow) child() run.Ask {
	a := f.ask(f.JobID, 0, f.Message, f.taskRules())
	a.Lane, a.Cause, a.SourceTool = run.LaneSubagent, causeSpawn, toolSpawn
	a.Model, a.Thinking, a.TimeoutMs = f.Model, f.Thinking, f.RunMs
	a.Label, a.SpawnedBy = f.Label, f.RequesterSessionKey
	return a
}

// result is the result of a child.
type result struct {
	outcome     string // "" for success
	status, err string
	class       string // of err, if its run has failed
	text        string
	tookMs      int64 // 0 if unknown
}

func (f *Flow) childEnded(r *run.Result) Step {
	res := result{text: answerOf(r), err: problem(r)}
	if r.Over != nil {
		res.class = r.Over.ErrorClass
	}
	if r.StartedAt > 0 {
		res.tookMs = max(r.EndedAt-r.StartedAt, 0)
	}
	switch r.State {
	case run.OK:
	case run.TimedOut:
		res.outcome, res.status = coordination.OutcomeValueTimeout, statusTimeout
	case run.Aborted:
		res.outcome, res.status = coordination.OutcomeValueKilled, statusAborted
		if tooManyRestarts(r) {
			res.outcome = coordination.OutcomeValueFailed
		}
	default:
		res.outcome, res.status = coordination.OutcomeValueFailed, statusError
	}
	return f.childOver(res)
}

// childOver ends a flow with the result of its child, and passes that to the parent's session, unless the child has
// answered NO_REPLY.
func (f *Flow) childOver(res result) Step {
	var s Step
	e := endData{outcome: res.outcome, err: res.err, announced: true}
	if res.outcome == "" {
		text := res.text
		if Silent(text) {
			text = nothingSaid
		}
		s.Events, s.Findings = append(s.Events, f.answered(0, text, "")), Plain(text)
		e.last = excerpt(text, PreviewLength)
		if SkipsAnnounce(text) {
			e.announced, e.skipped = false, true
		}
	} else {
		e.silence = silence{outcome: res.outcome, status: res.status, err: res.err, class: res.class}
		s.Events = append(s.Events, f.unanswered(e.silence))
	}
	s = f.finish(s, e)
	if e.announced {
		s.Asks = []run.Ask{f.report(res)}
	}
	return s
}

// report notifies the parent of its child's result.
func (f *Flow) report(res result) run.Ask {
	a := f.ask(f.JobID+reportSuffix, 1, reportMessage(f, res), reportRules)
	a.Lane, a.Cause, a.SourceTool, a.Internal = "", causeSubagent, toolSpawn, false
	if f.AnnounceChannel != "" {
		a.Deliver = true
		a.Channel, a.To, a.AccountID, a.ThreadID = f.AnnounceChannel, f.AnnounceTo, f.AnnounceAccountID, f.AnnounceThreadID
	}
	return a
}

// childMs is when a child is checked again, in ms from now: less often the longer it takes, because normally its run's
// end triggers the next step.
func (f *Flow) childMs(now int64) int64 {
	return min(max(now-f.CreatedAt, WaitMs), StaleMs/2)
}

// spawnRefused implements Refused for a flow of kind spawn.
func (f *Flow) spawnRefused(s Step, ask run.Ask, code, why string) Step {
	s = Step{Events: slices.Clone(s.Events), StopRun: s.StopRun, Findings: s.Findings, Over: s.Over}
	failed := f.dispatchFailed(ask.RunID, ask.Session.String(), code, why)
	if ask.RunID == f.JobID {
		s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.Type == coordination.TypeA2ASpawnResult })
		s.Events = append(s.Events, f.spawnResult(coordination.SpawnError, why), failed)
		return f.silent(s, silence{outcome: coordination.OutcomeValueBlocked, status: statusDispatch, err: why})
	}
	for i, e := range s.Events {
		if data, is := e.Data.(coordination.A2AComplete); is { // its parent's session does not accept the report
			data.Announced, data.Error = false, cmp.Or(data.Error, reason(why))
			s.Events[i].Data = data
		}
	}
	s.Events = append(s.Events, failed)
	return s
}

// took formats a duration for people.
func took(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}
