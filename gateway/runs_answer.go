package gateway

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// acceptedAnswer is the first answer to agent. Clients that wait for the second one recognize it by its status.
type acceptedAnswer struct {
	RunID      string `json:"runId"`
	Status     string `json:"status"` // accepted
	AcceptedAt int64  `json:"acceptedAt"`
}

// finalAnswer is the second answer to agent: the run is over. Clients read the outcome from the result: a failed run
// has the status ok too.
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

type runPayload struct {
	Text     string   `json:"text"`
	MediaURL *string  `json:"mediaUrl"`
	Media    []string `json:"mediaUrls,omitempty"` // all of them, if there are several
	IsError  bool     `json:"isError,omitempty"`
}

type runMeta struct {
	DurationMs int64           `json:"durationMs"`
	Agent      agentMeta       `json:"agentMeta"`
	Aborted    bool            `json:"aborted"`
	StopReason string          `json:"stopReason,omitempty"` // set for a stopped run
	Error      *runError       `json:"error,omitempty"`
	Prompt     json.RawMessage `json:"systemPromptReport,omitempty"` // composition of the last prompt
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

// Texts in place of a missing answer.
const (
	timedOutText = "The run exceeded its time limit and was stopped before it had an answer. Ask again, or allow more time."
	brokenText   = "The run was interrupted because the gateway stopped or lost it. Ask again."
)

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
			a.Result.Payloads = append(a.Result.Payloads, payloadOf(text, isError))
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

// payloadOf is a text, without the lines in it that name files, and these.
func payloadOf(text string, isError bool) runPayload {
	rest, media := delivery.SplitMedia(text)
	if len(media) == 0 {
		return runPayload{Text: text, IsError: isError}
	}
	one := runPayload{Text: coordination.TrimJS(rest), MediaURL: &media[0], IsError: isError}
	if len(media) > 1 {
		one.Media = media
	}
	return one
}

// isBroken reports whether an aborted run was not stopped by request: its process is gone.
func isBroken(over *coordination.RunOver) bool {
	switch over.Reason {
	case "restart", "shutdown", "lease":
		return true
	}
	return false
}
