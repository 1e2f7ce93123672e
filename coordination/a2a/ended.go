package a2a

import (
	"cmp"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Ended handles the end of the run that a flow waits for. before is the whole text of the previous answer, in phase
// turn; jitter, from 0 to 1, shortens pauses. Other runs change nothing.
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

// waitsFor reports whether a flow waits for a run, or for one that it retries.
func (f *Flow) waitsFor(r *run.Result) bool {
	switch f.Phase {
	case Waiting, Turn, Announcing:
		return r != nil && f.RunID != "" && run.RootOf(r.RunID, r.RetryOf) == f.RunID
	}
	return false
}

// answerOf is the answer of a run. Text written before it was stopped is not an answer.
func answerOf(r *run.Result) string {
	if r.State != run.OK || r.Over == nil {
		return ""
	}
	return r.Over.Text
}

func (f *Flow) firstEnded(r *run.Result, jitter float64, now int64) Step {
	text := answerOf(r)
	if !Silent(text) && !SkipsReply(text) {
		return f.handleAnswer(Step{Events: []Event{f.answered(0, text, "")}}, 0, text, now)
	}
	if r.State == run.OK && f.isNotification() {
		return f.finish(Step{Events: []Event{f.answered(0, nothingSaid, "")}}, endData{skipped: true, last: nothingSaid})
	}
	if why := FailureOf(r); why.Again && f.Attempt <= MaxRetries && !tooManyRestarts(r) {
		return f.retryLater(why, problem(r), jitter, now)
	}
	return f.silent(Step{}, silenceOf(r))
}

// nothingSaid stands for an answer without text in events, where that is acceptable.
const nothingSaid = "[completed]"

// isNotification reports whether a message is only a notification: it needs no answer.
func (f *Flow) isNotification() bool {
	return f.MessageIntent == intentNotification || f.MessageIntent == intentRespond
}

// tooManyRestarts reports whether restarts have interrupted a run as often as it may be started: the run itself may have
// ended the program.
func tooManyRestarts(r *run.Result) bool {
	return r.State == run.Aborted && r.Over != nil && r.Over.Reason == reasonRestart
}

// retryLater requests the first answer once more, after a pause.
func (f *Flow) retryLater(why Failure, text string, jitter float64, now int64) Step {
	pause := Backoff(f.Attempt, jitter).Milliseconds()
	runID := f.JobID + run.AttemptSuffix + strconv.Itoa(f.Attempt+1)
	return Step{
		Events: []Event{
			f.retry(f.Attempt, why, text, pause, now),
			f.running(coordination.A2AJob{
				Phase: string(Waiting), DueAtMs: now + pause + f.waitMs(), Speaker: f.ToAgent, RunID: runID, Attempt: f.Attempt + 1,
			}),
		},
		Asks: []run.Ask{f.firstAsk(runID, now+pause)},
	}
}

// silenceOf is why a finished run has given no answer.
func silenceOf(r *run.Result) silence {
	why := silence{outcome: coordination.OutcomeValueNoReply, err: problem(r)}
	if r.Over != nil {
		why.class = r.Over.ErrorClass
	}
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

// problem is the error that a run reports, "" if none.
func problem(r *run.Result) string {
	switch {
	case r.Over == nil:
		return ""
	case r.State == run.Aborted && r.Over.Reason != "":
		return "aborted: " + r.Over.Reason
	}
	return cmp.Or(r.Over.Error, r.Over.ErrorClass)
}

// handleAnswer handles an answer, taken being the number of turns so far: another turn, or the end.
func (f *Flow) handleAnswer(s Step, taken int, text string, now int64) Step {
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
	text := answerOf(r)
	if ended := turnProblem(r, text); ended != "" {
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
	return f.handleAnswer(s, f.Turn, text, now)
}

// turnProblem is why a finished run does not count as a turn, "" if it does.
func turnProblem(r *run.Result, text string) string {
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

// wrapUp handles the last answer: it requests the announcement, if there is one; otherwise the flow is over. ended is
// why no other turn follows although one was possible, last the beginning of the answer that led here, "" if none did.
func (f *Flow) wrapUp(s Step, taken int, ended, latest, last string, now int64) Step {
	latest = cmp.Or(Plain(latest), f.latest())
	if f.NoAnnounce || f.AnnounceChannel == "" || Silent(latest) {
		return f.finish(s, endData{taken: taken, ended: ended, skipped: true, last: last})
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

// latest is the beginning of the last known answer.
func (f *Flow) latest() string {
	if len(f.Said) == 0 {
		return ""
	}
	return f.Said[len(f.Said)-1].Text
}

func (f *Flow) announceEnded(r *run.Result, now int64) Step {
	text := answerOf(r)
	if Silent(text) || SkipsAnnounce(text) {
		return f.finish(Step{}, endData{taken: f.taken(), ended: f.EndedEarly, skipped: r.State == run.OK, err: problem(r)})
	}
	text = Plain(text)
	return Step{Events: []Event{f.running(coordination.A2AJob{
		Phase: string(Posting), DueAtMs: now, Turn: f.Turn, Attempt: 1, Post: forRun(text, MaxMessage, len(text)),
	})}}
}

// Posted handles the result of an attempt at posting; why says what failed, "" for success.
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
	return f.finish(Step{}, endData{taken: f.taken(), ended: f.EndedEarly, announced: why == "", err: why})
}
