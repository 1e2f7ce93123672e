package a2a

import (
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Begin opens a flow of kind send. active is how many flows its target has that hold a permit, waiting how many wait for one. created has all
// but Kind, Phase and DueAtMs; warnings are why a payload was left out, or is another one than an open one's. Without MaxFlows there is always
// a permit; where others wait for one, this waits behind them.
func Begin(created coordination.A2AJobCreated, active, waiting int, warnings []string, now int64) Step {
	created.Kind, created.Phase = string(Send), string(Waiting)
	full := created.MaxFlows > 0 && (active >= created.MaxFlows || waiting > 0)
	if full {
		created.Phase = string(Dispatching)
	}
	f := opened(created, now)
	s := Step{Events: []Event{f.created(), f.sent(warnings)}}
	if full {
		s.Events = append(s.Events, f.concurrency(coordination.TypeA2AConcurrencyThrottle, active, waiting+1))
		return s
	}
	s.Asks = []run.Ask{f.first(f.JobID, 0)}
	return s
}

// Dispatch gives a flow that waits for a permit one.
func Dispatch(f *Flow, now int64) Step {
	switch {
	case f.Phase != Dispatching:
		return Step{}
	case f.Redacted:
		return f.gone()
	}
	return Step{
		Events: []Event{f.running(coordination.A2AJob{
			Phase: string(Waiting), DueAtMs: now + f.waitMs(), Speaker: f.ToAgent, RunID: f.JobID, Attempt: 1,
		})},
		Asks: []run.Ask{f.first(f.JobID, 0)},
	}
}

// opened is a flow as it begins. What looks like a secret in it, and what is too long for a run, is not kept.
func opened(created coordination.A2AJobCreated, now int64) *Flow {
	created.Message = forRun(coordination.Mask(bounded(created.Message, 2*MaxMessage)), MaxMessage, len(created.Message))
	created.PayloadJSON, created.PayloadSubject = maskJSON(created.PayloadJSON), coordination.Mask(created.PayloadSubject)
	created.Label, created.IdempotencyKey = coordination.Mask(created.Label), coordination.Mask(created.IdempotencyKey)
	f := &Flow{}
	f.begin(created, 0, now)
	switch {
	case f.Phase == Dispatching:
		f.DueAt = now + f.queueMs()
	case Kind(f.Kind) == Spawn:
		f.DueAt = now + f.childMs(now)
	default:
		f.DueAt = now + f.waitMs()
	}
	f.DueAtMs = f.DueAt
	return f
}

// forRun is a text as it reaches a run: at most so many bytes, with a note where it was cut. whole is how many it had at first.
func forRun(text string, most, whole int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most && whole <= 2*MaxMessage {
		return text
	}
	note := "\n\n[cut: the message had " + strconv.Itoa(whole) + " bytes]"
	return clip(text, most-len(note)) + note
}

// first asks for the first answer. It does not begin before due, ms since 1970; 0 is at once.
func (f *Flow) first(runID string, due int64) run.Ask {
	payload, _ := handoff.Parse(f.PayloadJSON)
	a := f.ask(runID, 0, handoff.Message(f.FromAgent, f.Message, payload), f.introduction())
	a.DueAtMs = due
	return a
}

// ask asks for the answer of a turn, 0 being the first. Where the session cannot be one, the run is refused.
func (f *Flow) ask(runID string, turn int, message, rules string) run.Ask {
	speaker, listener := f.at(turn)
	session, _ := coordination.ParseSessionKey(speaker.session)
	return run.Ask{ // what is said back and forth is for agents, and only the session of the flow itself shows it
		RunQueued: coordination.RunQueued{
			Context: f.contextOf(speaker, listener), RunID: runID, SessionKey: speaker.session, Lane: run.LaneNested, Cause: causeFlow,
			JobID: f.JobID, OnRestart: run.OnRestartRetry, Message: message, Provenance: interSession, FromAgent: listener.agent,
			Internal: turn > 0 && session.Kind != coordination.KeyA2A, SourceSessionKey: listener.session, SourceChannel: f.SourceChannel,
			SourceTool: toolSend, ExtraSystemPrompt: rules,
		},
		Session: session,
	}
}

// What the ids of runs of a flow end with, after that of its job.
const (
	announceSuffix = ".a"
	reportSuffix   = ".p"
)

// What a run is said to come from.
const (
	causeFlow     = "a2a"
	causeSpawn    = "spawn"
	causeSubagent = "subagent" // the message that tells what came of one
	interSession  = "inter_session"
	toolSend      = "sessions_send"
	toolSpawn     = "sessions_spawn"
)
