package a2a

import (
	"cmp"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Ended follows from the end of the run that a flow waits for. before is the whole text of the answer before it, of phase turn; jitter, from
// 0 to 1, shortens pauses. A run that the flow does not wait for changes nothing.
func Ended(f *Flow, r *run.Result, before string, jitter float64, now int64) Step {
	switch {
	case !f.waitsFor(r) || !r.State.Over():
		return Step{}
	case f.Redacted:
		return f.gone()
	case Kind(f.Kind) == Spawn:
		return f.childEnded(r)
	}
	switch f.Phase {
	case Turn:
		return f.turnEnded(r, before, now)
	case Announcing:
		return f.announceEnded(r, now)
	}
	return f.firstEnded(r, jitter, now)
}

// waitsFor reports whether a run is the one that a flow waits for, or one that repeats it.
func (f *Flow) waitsFor(r *run.Result) bool {
	switch f.Phase {
	case Waiting, Turn, Announcing:
		return r != nil && f.RunID != "" && run.RootOf(r.RunID, r.RetryOf) == f.RunID
	}
	return false
}

// said is what a run has answered. What it said until it was stopped is no answer.
func said(r *run.Result) string {
	if r.State != run.OK || r.Over == nil {
		return ""
	}
	return r.Over.Text
}

func (f *Flow) firstEnded(r *run.Result, jitter float64, now int64) Step {
	text := said(r)
	if !Silent(text) && !SkipsReply(text) {
		return f.goOn(Step{Events: []Event{f.answered(0, text, "")}}, 0, text, now)
	}
	if r.State == run.OK && f.wantsNone() {
		return f.finish(Step{Events: []Event{f.answered(0, nothingSaid, "")}}, ending{skipped: true, last: nothingSaid})
	}
	if why := FailureOf(r); why.Again && f.Attempt <= MaxRetries && !brokenOff(r) {
		return f.again(why, problem(r), jitter, now)
	}
	return f.silent(Step{}, silenceOf(r))
}

// nothingSaid is how an answer without words stands in events, where that is as good as one.
const nothingSaid = "[completed]"

// wantsNone reports whether a message only tells something: silence answers it as well as words do.
func (f *Flow) wantsNone() bool {
	return f.MessageIntent == intentNotification || f.MessageIntent == intentRespond
}

// brokenOff reports whether restarts have broken off a run as often as it is begun at most: it may be what ended the program.
func brokenOff(r *run.Result) bool {
	return r.State == run.Aborted && r.Over != nil && r.Over.Reason == reasonRestart
}

// again asks for the first answer once more, after a pause.
func (f *Flow) again(why Failure, text string, jitter float64, now int64) Step {
	pause := Backoff(f.Attempt, jitter).Milliseconds()
	runID := f.JobID + run.AttemptSuffix + strconv.Itoa(f.Attempt+1)
	return Step{
		Events: []Event{
			f.retry(f.Attempt, why, text, pause, now),
			f.running(coordination.A2AJob{
				Phase: string(Waiting), DueAtMs: now + pause + f.waitMs(), Speaker: f.ToAgent, RunID: runID, Attempt: f.Attempt + 1,
			}),
		},
		Asks: []run.Ask{f.first(runID, now+pause)},
	}
}

// silenceOf is why a run that is over has given no answer.
func silenceOf(r *run.Result) silence {
	why := silence{outcome: coordination.OutcomeValueNoReply, err: problem(r)}
	switch r.State {
	case run.OK:
		why.status = statusEmpty
	case run.TimedOut:
		why.status = statusTimeout
	case run.Aborted:
		why.status = statusAborted
	default:
		why.status = statusError
	}
	return why
}

// problem is what a run says that went wrong, "" for nothing.
func problem(r *run.Result) string {
	switch {
	case r.Over == nil:
		return ""
	case r.State == run.Aborted && r.Over.Reason != "":
		return "aborted: " + r.Over.Reason
	}
	return cmp.Or(r.Over.Error, r.Over.ErrorClass)
}

// goOn follows from an answer, taken being how many turns there were: another turn, or the end.
func (f *Flow) goOn(s Step, taken int, text string, now int64) Step {
	if taken >= f.turns() {
		return f.wrapUp(s, taken, "", text, excerpt(text, PreviewLength), now)
	}
	turn := taken + 1
	speaker, listener := f.at(turn)
	runID := f.JobID + ".t" + strconv.Itoa(turn)
	text = Plain(text)
	s.Events = append(s.Events, f.running(coordination.A2AJob{
		Phase: string(Turn), DueAtMs: now + TurnMs, Speaker: speaker.agent, Turn: turn, RunID: runID, LastText: excerpt(text, PreviewLength),
	}))
	relayed := handoff.Message(listener.agent, forRun(text, MaxMessage, len(text)), nil)
	s.Asks = []run.Ask{f.ask(runID, turn, relayed, f.replyRules(turn))}
	return s
}

func (f *Flow) turnEnded(r *run.Result, before string, now int64) Step {
	text := said(r)
	if ended := noTurn(r, text); ended != "" {
		return f.wrapUp(Step{}, f.Turn-1, ended, before, "", now)
	}
	ended := ""
	if f.Turn < f.turns() {
		ended = EndsEarly(Plain(text), Plain(before))
	}
	s := Step{Events: []Event{f.answered(f.Turn, text, ended)}}
	if ended != "" {
		return f.wrapUp(s, f.Turn, ended, text, excerpt(text, PreviewLength), now)
	}
	return f.goOn(s, f.Turn, text, now)
}

// noTurn is why a run that is over makes no turn, "" if it does.
func noTurn(r *run.Result, text string) string {
	switch {
	case r.State == run.TimedOut:
		return endedTimeout
	case r.State != run.OK:
		return endedError
	case SkipsReply(text):
		return endedSkip
	case Silent(text):
		return endedEmpty
	}
	return ""
}

// wrapUp follows from the last answer: what is to be announced is asked for, if anything is; else the flow is over. ended is why no other
// turn follows though there might be one, last how the answer began that led here, "" if none did.
func (f *Flow) wrapUp(s Step, taken int, ended, latest, last string, now int64) Step {
	latest = cmp.Or(Plain(latest), f.latest())
	if f.NoAnnounce || f.AnnounceChannel == "" || Silent(latest) {
		return f.finish(s, ending{taken: taken, ended: ended, skipped: true, last: last})
	}
	runID := f.JobID + announceSuffix
	s.Events = append(s.Events, f.running(coordination.A2AJob{
		Phase: string(Announcing), DueAtMs: now + TurnMs, Speaker: f.ToAgent, Turn: taken, RunID: runID, LastText: last, Reason: ended,
	}))
	ask := f.ask(runID, 0, announceMessage, f.announceRules(latest))
	ask.Internal = ask.Session.Kind != coordination.KeyA2A
	s.Asks = []run.Ask{ask}
	return s
}

// latest is how the last answer began that is known.
func (f *Flow) latest() string {
	if len(f.Said) == 0 {
		return ""
	}
	return f.Said[len(f.Said)-1].Text
}

func (f *Flow) announceEnded(r *run.Result, now int64) Step {
	text := said(r)
	if Silent(text) || SkipsAnnounce(text) {
		return f.finish(Step{}, ending{taken: f.taken(), ended: f.EndedEarly, skipped: r.State == run.OK, err: problem(r)})
	}
	text = Plain(text)
	return Step{Events: []Event{f.running(coordination.A2AJob{
		Phase: string(Posting), DueAtMs: now, Turn: f.Turn, Attempt: 1, Post: forRun(text, MaxMessage, len(text)),
	})}}
}

// Posted follows from an attempt at posting; why says what failed, "" for nothing.
func Posted(f *Flow, why string, now int64) Step {
	switch {
	case f.Phase != Posting:
		return Step{}
	case f.Redacted:
		return f.gone()
	case why != "" && f.Attempt < MaxPosts:
		return Step{Events: []Event{f.running(coordination.A2AJob{
			Phase: string(Posting), DueAtMs: now + Backoff(f.Attempt, 0).Milliseconds(), Turn: f.Turn, Attempt: f.Attempt + 1, Error: reason(why),
		})}}
	}
	return f.finish(Step{}, ending{taken: f.taken(), ended: f.EndedEarly, announced: why == "", err: why})
}
