package gateway

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// acceptedAnswer is the first answer to agent. Clients that wait for the second one know it by its status.
type acceptedAnswer struct {
	RunID      string `json:"runId"`
	Status     string `json:"status"` // accepted
	AcceptedAt int64  `json:"acceptedAt"`
}

// finalAnswer is the second answer to agent: the run is over. Clients read what became of it from the result: also a run that has failed has
// the status ok.
type finalAnswer struct {
	RunID   string     `json:"runId"`
	Status  string     `json:"status"`  // ok
	Summary string     `json:"summary"` // completed, aborted, timed out
	Result  *runResult `json:"result"`
}

type runResult struct {
	Payloads []runPayload `json:"payloads"`
	Meta     runMeta      `json:"meta"`
}

// runPayload is something that the run has said, or that is said of it.
type runPayload struct {
	Text     string  `json:"text"`
	MediaURL *string `json:"mediaUrl"`
	IsError  bool    `json:"isError,omitempty"`
}

type runMeta struct {
	DurationMs int64           `json:"durationMs"`
	Agent      agentMeta       `json:"agentMeta"`
	Aborted    bool            `json:"aborted"`
	StopReason string          `json:"stopReason,omitempty"` // of a run that was stopped
	Error      *runError       `json:"error,omitempty"`
	Prompt     json.RawMessage `json:"systemPromptReport,omitempty"` // what the last prompt was made of
}

type agentMeta struct {
	SessionID    string                     `json:"sessionId"`
	Provider     string                     `json:"provider,omitempty"`
	Model        string                     `json:"model,omitempty"`
	Usage        *coordination.SessionUsage `json:"usage,omitempty"`
	LastUsage    *coordination.SessionUsage `json:"lastCallUsage,omitempty"`
	PromptTokens int64                      `json:"promptTokens,omitempty"`
}

type runError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// What is said instead of an answer that did not come.
const (
	timedOutText = "The run took longer than it may, and was stopped before it had an answer. Ask again, or allow more time."
	brokenText   = "The run was broken off because the gateway ended or lost it. Ask again."
)

// finalOf is what is answered to whoever has asked for a run that is over.
func finalOf(r *run.Result) finalAnswer {
	over := r.Over
	if over == nil {
		over = &coordination.RunOver{} // its event was redacted
	}
	a := finalAnswer{RunID: r.RunID, Status: "ok", Summary: "completed", Result: &runResult{Payloads: []runPayload{}, Meta: runMeta{
		Agent: agentMeta{SessionID: r.SessionID, Provider: over.Provider, Model: over.Model, Usage: over.Usage, LastUsage: over.LastUsage}}}}
	meta := &a.Result.Meta
	meta.Prompt = over.Prompt
	if r.StartedAt != 0 {
		meta.DurationMs = max(0, r.EndedAt-r.StartedAt)
	}
	if over.LastUsage != nil {
		meta.Agent.PromptTokens = over.LastUsage.Input
	}
	say := func(text string, isError bool) {
		if text != "" && !isSilent(text) {
			a.Result.Payloads = append(a.Result.Payloads, runPayload{Text: text, IsError: isError})
		}
	}
	switch r.State {
	case run.Failed:
		meta.Error = &runError{Kind: over.ErrorClass, Message: errorText(over)}
		say(meta.Error.Message, true)
	case run.TimedOut:
		a.Summary, meta.Aborted, meta.StopReason = "timed out", true, "timeout"
		say(timedOutText, true)
	case run.Aborted:
		a.Summary, meta.Aborted, meta.StopReason = "aborted", true, over.Reason
		say(over.Text, false)
		if isBroken(over) {
			say(brokenText, true)
		}
	default:
		say(over.Text, false)
	}
	return a
}

// isBroken reports whether nobody has stopped a run that is aborted: what it ran in is gone.
func isBroken(over *coordination.RunOver) bool {
	switch over.Reason {
	case "restart", "shutdown", "lease":
		return true
	}
	return false
}
