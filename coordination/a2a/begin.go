package a2a

import (
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Begin opens a flow of kind send. active is how many flows its target has that hold a permit, waiting how many wait
// for one. created has all but Kind, Phase and DueAtMs; warnings say why a payload was left out, or differs from an
// open one. Without MaxFlows there is always a permit; otherwise the flow queues behind those that wait.
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
	s.Asks = []run.Ask{f.firstAsk(f.JobID, 0)}
	return s
}

// Dispatch gives a permit to a flow that waits for one.
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
		Asks: []run.Ask{f.firstAsk(f.JobID, 0)},
	}
}

// opened returns a new flow, with secrets masked and texts shortened to what a run accepts.
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

// forRun shortens a text for a run to so many bytes, with a note where it was cut. whole is its original length.
func forRun(text string, most, whole int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most && whole <= 2*MaxMessage {
		return text
	}
	note := "\n\n[cut: the message had " + strconv.Itoa(whole) + " bytes]"
	return coordination.Clip(text, most-len(note)) + note
}

// firstAsk requests the first answer. It does not begin before due, ms since 1970; 0 is at once.
func (f *Flow) firstAsk(runID string, due int64) run.Ask {
	payload, _ := handoff.Parse(f.PayloadJSON)
	a := f.ask(runID, 0, handoff.Message(f.FromAgent, f.Message, payload), f.introduction())
	a.DueAtMs = due
	return a
}

// ask requests the answer of a turn, 0 being the first. If the session key is invalid, the run is refused.
func (f *Flow) ask(runID string, turn int, message, rules string) run.Ask {
	speaker, listener := f.at(turn)
	session, _ := coordination.ParseSessionKey(speaker.session)
	return run.Ask{ // messages of a turn are for agents, and only the flow's own session shows them
		RunQueued: coordination.RunQueued{
			Context: f.contextOf(speaker, listener), RunID: runID, SessionKey: speaker.session, Lane: run.LaneNested, Cause: causeFlow,
			JobID: f.JobID, OnRestart: run.OnRestartRetry, Message: message, Provenance: interSession, FromAgent: listener.agent,
			Internal: turn > 0 && session.Kind != coordination.KeyA2A, SourceSessionKey: listener.session, SourceChannel: f.SourceChannel,
			SourceTool: toolSend, ExtraSystemPrompt: rules,
		},
		Session: session,
	}
}

// Suffixes of the ids of a flow's runs, after that of its job.
const (
	announceSuffix = ".a"
	reportSuffix   = ".p"
)

// Origins of runs.
const (
	causeFlow     = "a2a"
	causeSpawn    = "spawn"
	causeSubagent = "subagent" // the message that reports the result of one
	interSession  = "inter_session"
	toolSend      = "sessions_send"
	toolSpawn     = "sessions_spawn"
)
