package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// resumption says whether an interrupted run is continued at its last step.
type resumption struct {
	resume bool
	ahead  bool // it has added a step itself
}

// resumption decides for a run that a shutdown interrupts.
func (a *activeRun) resumption(ahead bool) resumption {
	q := &a.asked.RunQueued
	return resumption{resume: (ahead || q.Resume) && a.config.Defaults.Resume == config.ResumeSteps && run.MayResume(q, ahead), ahead: ahead}
}

// resumptionOf decides for a run of a process that is gone.
func (r *Runner) resumptionOf(tx eventstore.Tx, result run.Result, q *queuedRun, asked int64) (resumption, error) {
	if r.o.Config().Defaults.Resume != config.ResumeSteps || q.redacted || result.State != run.Running {
		return resumption{}, nil
	}
	ahead, err := hasSteps(tx, result, asked)
	return resumption{resume: (ahead || q.Resume) && run.MayResume(&q.RunQueued, ahead), ahead: ahead}, err
}

const selectStep = `SELECT 1 FROM session_transcripts t JOIN session_messages m ON m.transcript_id = t.id AND m.seq > ? JOIN events e ON e.seq = m.seq
 WHERE t.session_id = ? AND e.data ->> '$.runId' = ? AND (e.data ->> '$.author' = ? OR e.data ->> '$.stopReason' = ?) LIMIT 1`

// hasSteps reports whether a run has added a step to its transcript. asked is the event that queued it.
func hasSteps(tx eventstore.Tx, result run.Result, asked int64) (has bool, err error) {
	err = tx.Query(selectStep, []any{asked, result.SessionID, result.RunID, authorTool, string(llm.ToolUse)}, func(eventstore.Row) error {
		has = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look for steps of run %s: %w", result.RunID, err)
	}
	return has, nil
}

// takeSteps takes the steps of the attempts that this one continues from the transcript. Incomplete answers are dropped: the model is asked
// for them again.
func (t *turn) takeSteps(said []*sessions.Message) {
	for _, m := range said {
		d := &m.Data
		if m.Redacted || !slices.Contains(t.asked.Earlier, d.RunID) {
			continue
		}
		switch {
		case d.Author == authorTool:
			t.steps = append(t.steps, prompt.Message(d))
			t.before.ToolCalls++
		case d.Author == authorAssistant && d.StopReason == string(llm.ToolUse):
			t.steps = append(t.steps, prompt.Message(d))
			t.before.ModelCalls++
		}
	}
}

const blockToolCall = "toolCall"

// resume makes the calls of the last step that have no result yet, and returns the number of the next step. A call that was made before
// is recognized by its id, as in a run that is repeated.
func (t *turn) resume(ctx context.Context) (step int, err error) {
	t.steps = llm.Resulting(t.steps)
	last := -1
	for i := range t.steps {
		switch m := &t.steps[i]; m.Role {
		case llm.Assistant:
			last = i
		case llm.ToolRole:
			if call := callOf(t.steps[last].ToolCalls, m.ToolCallID); call != nil {
				t.callID(call)
				t.repeated(call, m.Text, m.IsError)
			}
		}
	}
	if last < 0 {
		return 1, nil
	}
	calls, done := t.steps[last].ToolCalls, len(t.steps)-last-1
	t.setText(t.steps[last].Text)
	t.markStored()
	return t.before.ModelCalls + 1, t.useRest(ctx, calls, min(done, len(calls)))
}

func callOf(calls []llm.ToolCall, id string) *llm.ToolCall {
	for i := range calls {
		if calls[i].ID == id {
			return &calls[i]
		}
	}
	return nil
}

// Why a call cannot be made with its stored arguments.
const (
	lostSecret    = "secret"
	lostMalformed = "malformed"
)

func notRepeated(why string) string {
	if why == lostMalformed {
		return "Not called: the arguments were not a JSON object that fits the tool's schema. Ask for it again."
	}
	return "Not called: openclawd was restarted before it was, and does not keep secrets of arguments. Ask for it again."
}

// stored is a call as it is in the transcript: without secrets.
func stored(c *llm.ToolCall) block {
	b := block{Type: blockToolCall, ID: c.ID, Name: c.Name, Arguments: maskArguments(c.Arguments)}
	switch {
	case c.Malformed != "":
		b.Unmade = lostMalformed
	case !bytes.Equal(b.Arguments, c.Arguments):
		b.Unmade = lostSecret
	}
	if written, err := json.Marshal(b.Arguments); err != nil || !bytes.Equal(written, c.Arguments) { // shorter, or escaped
		b.Key = contentKey(c.Name, c.Arguments)
	}
	return b
}
