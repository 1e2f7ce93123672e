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
	"github.com/pronto-lab/openclawd/coordination"
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
		own := t.resumed && d.RunID == t.result.RunID
		if m.Redacted || !own && !slices.Contains(t.asked.Earlier, d.RunID) {
			continue
		}
		spent := &t.before
		if own {
			spent = &t.spend
		}
		switch {
		case d.Author == authorTool:
			t.steps = append(t.steps, prompt.Message(d))
			spent.ToolCalls++
		case d.Author == authorAssistant && d.StopReason == string(llm.ToolUse):
			t.steps = append(t.steps, prompt.Message(d))
			spent.ModelCalls++
			if own {
				t.countOwn(d)
			}
		}
	}
}

// countOwn counts an answer of this run from before it was parked.
func (t *turn) countOwn(d *coordination.SessionMessage) {
	t.told = true
	t.spend.Provider, t.spend.Model = d.Provider, d.Model
	if d.Usage == nil {
		return
	}
	last := *d.Usage
	t.usage.Input += last.Input
	t.usage.Output += last.Output
	t.usage.Total += last.Total
	t.spend.LastUsage = &last
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
			if at := callOf(t.steps[last].ToolCalls, m.ToolCallID); at >= 0 {
				call := &t.steps[last].ToolCalls[at]
				if t.wasMade(call, at, m.Text) {
					t.callID(call)
				}
				t.repeated(call, m.Text, m.IsError)
			}
		}
	}
	if last < 0 {
		return 1, nil
	}
	calls, done := t.steps[last].ToolCalls, len(t.steps)-last-1
	if done < len(calls) && calls[done].Unmade == lostSecret {
		calls[done].Unmade = lostUnderWay
	}
	t.setText(t.steps[last].Text)
	t.markStored()
	t.ahead.Store(t.resumed)
	return t.before.ModelCalls + t.spend.ModelCalls + 1, t.useRest(ctx, calls, min(done, len(calls)))
}

// callOf is the index of the call with an id; -1 is none.
func callOf(calls []llm.ToolCall, id string) int {
	return slices.IndexFunc(calls, func(c llm.ToolCall) bool { return c.ID == id })
}

// wasMade reports whether an earlier attempt made a call, which is at an index of its answer and has a result, so that it counted in callID.
func (t *turn) wasMade(c *llm.ToolCall, at int, result string) bool {
	is := func(why string) bool { return result == shorten(notRepeated(why), t.runner.limits.ToolBytes) }
	switch {
	case at >= t.runner.limits.AnswerCalls, c.Unmade == lostMalformed:
		return false
	case c.Unmade == lostSecret:
		return !is(lostSecret) && !is(lostUnderWay)
	}
	return true
}

// Why a call cannot be made with its stored arguments.
const (
	lostSecret    = "secret"
	lostMalformed = "malformed"
	lostUnderWay  = "under way" // a secret, and the interrupted attempt may have made the call; it is not stored
)

func notRepeated(why string) string {
	switch why {
	case lostMalformed:
		return "Not called: the arguments were not a JSON object that fits the tool's schema. Ask for it again."
	case lostUnderWay:
		return "Not called again: openclawd was restarted, perhaps while the call was under way, and does not keep secrets of arguments. " +
			"It may or may not have had its effect: find out before you ask for it again."
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
	if c.Nth > 1 {
		b.Nth = c.Nth
	}
	return b
}
