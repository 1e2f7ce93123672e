package runner

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/modelcall"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// turn is the work on one run: models and tools are called until a model requests no more tools.
type turn struct {
	runner *Runner
	*activeRun
	place *remote.Place // where it is done; nil: here

	history    []llm.Message // up to the run's message
	remembered string        // messages the agent observed in the session
	steps      []llm.Message // the result so far
	offered    []tool.Spec
	caller     tool.Caller

	choices  []string // model choices, first choice first
	at       int      // index of the current choice
	models   asker
	share    float64        // of the model's window in use
	reported *prompt.Report // of the last prompt
	failed   []failedChoice // failed choices

	told   bool // some text
	last   repetition
	called map[string]int            // repetitions of the same tool call
	usage  coordination.SessionUsage // of all answers
	spend  coordination.RunOver      // usage

	before coordination.RunOver // calls of the attempts that this one continues
}

// answer works until there is an answer or a failure.
func (t *turn) answer(ctx context.Context) outcome {
	if err := t.prepare(ctx); err != nil {
		return t.fail(ctx, err)
	}
	first, err := t.resume(ctx)
	if err != nil {
		return t.fail(ctx, err)
	}
	for step := first; ; step++ {
		answer, err := t.ask(ctx, step)
		if err != nil {
			return t.fail(ctx, err)
		}
		if len(answer.ToolCalls) == 0 {
			return t.done(answer)
		}
		if err := t.useTools(ctx, answer); err != nil {
			return t.fail(ctx, err)
		}
	}
}

// prepare reads the history, bounded, in one transaction, which it does not break off: the driver needs a goroutine for
// each query that can be.
func (t *turn) prepare(ctx context.Context) error {
	t.share = 1
	t.choices = []string{t.first}
	for _, ref := range t.params.models.Choices(t.asked.agentID) {
		if !slices.Contains(t.choices, ref) {
			t.choices = append(t.choices, ref)
		}
	}
	var said []*sessions.Message
	limits := &t.runner.limits
	transcripts := t.runner.o.Transcripts.Open()
	reading := context.WithoutCancel(ctx)
	err := t.runner.log.View(reading, func(tx *sql.Tx) (err error) {
		said, err = transcripts.Shared(reading, tx, t.result.SessionID, limits.HistoryMessages, limits.HistoryBytes)
		if err == nil && t.runner.o.Remembered != nil {
			t.remembered, err = t.runner.o.Remembered(projections.Reading(reading, tx), t.key, t.runner.now())
		}
		return err
	})
	if err != nil {
		return err
	}
	t.told = t.resumed // before it was parked, perhaps
	if t.asked.Resume || t.resumed {
		t.takeSteps(said)
	}
	said = slices.DeleteFunc(said, func(m *sessions.Message) bool { return t.isOwn(m.Data.RunID) })
	t.history = append(prompt.History(said), prompt.Message(&t.params.message))
	prompt.Show(t.history, t.runner.o.Pictures)
	t.caller = t.callerOf()
	if t.runner.o.Tools != nil {
		if waiter, is := t.runner.o.Tools.(tool.Waiter); is {
			waiter.Await(ctx, t.caller)
		}
		t.offered = t.runner.o.Tools.Offer(t.caller)
	}
	brief := modelcall.Brief{Agent: t.asked.agentID, Session: t.key, History: t.history, Tools: t.offered, Thinking: t.thinking,
		Extra: strings.Trim(t.asked.ExtraSystemPrompt+"\n"+t.remembered, "\n")}
	if t.place != nil {
		t.models = t.place.Talk(brief)
	} else {
		t.models = &modelcall.Talk{Brief: brief, Models: t.params.models, Config: t.config, Prompt: t.runner.o.Prompt}
	}
	return nil
}

// isOwn reports whether a message belongs to this run or an earlier attempt at it, which is left out of the history
// since the model would read the message twice.
func (t *turn) isOwn(runID string) bool {
	if runID == "" {
		return false
	}
	q := t.asked
	if q.RetryOf == "" && q.JobID == "" && len(q.Earlier) == 0 {
		return runID == t.result.RunID
	}
	own := run.MessageOf(t.result.RunID, q.RetryOf, q.JobID)
	return runID == t.result.RunID || runID == q.RetryOf || run.MessageOf(runID, "", q.JobID) == own || slices.Contains(q.Earlier, runID)
}

func (t *turn) callerOf() tool.Caller {
	q := t.asked
	c := tool.Caller{
		Entry: tool.ByRun, AgentID: q.agentID, SessionKey: t.result.SessionKey, SessionID: t.result.SessionID, RunID: t.result.RunID, AskedID: q.id,
		WorkSessionID: q.WorkSessionID, TaskID: q.TaskID, ConversationID: q.ConversationID,
		Channel: q.Channel, To: q.To, AccountID: q.AccountID, ThreadID: q.ThreadID,
	}
	if q.Depth != nil {
		c.Depth = *q.Depth
	}
	if q.Hop != nil {
		c.Hop = *q.Hop
	}
	return c
}

// done is the end of a run with an answer.
func (t *turn) done(answer *llm.Answer) outcome {
	o := outcome{to: run.OK, over: t.spent()}
	o.over.Text, o.over.StopReason = answer.Text, string(stopReason(answer))
	o.last = t.messageOf(answer)
	return o
}

// messageOf is an answer as stored in the transcript.
func (t *turn) messageOf(answer *llm.Answer) *coordination.SessionMessage {
	usage := usageOf(answer)
	return &coordination.SessionMessage{Author: authorAssistant, Text: answer.Text, Provider: answer.Provider, Model: answer.Model,
		StopReason: string(stopReason(answer)), Usage: &usage}
}

func stopReason(answer *llm.Answer) llm.StopReason {
	if answer.StopReason == llm.ToolUse && len(answer.ToolCalls) == 0 {
		return llm.Stop
	}
	return cmp.Or(answer.StopReason, llm.Stop)
}

func usageOf(answer *llm.Answer) coordination.SessionUsage {
	u := answer.Usage
	return coordination.SessionUsage{Input: int64(u.Input), Output: int64(u.Output), Total: int64(u.Total)}
}

// count adds an answer's usage.
func (t *turn) count(answer *llm.Answer) {
	last := usageOf(answer)
	t.usage.Input += last.Input
	t.usage.Output += last.Output
	t.usage.Total += last.Total
	t.spend.LastUsage = &last
	t.spend.Provider, t.spend.Model = answer.Provider, answer.Model
	if t.at > 0 {
		t.spend.FallbackFrom = t.choices[0]
	}
}

// spent is the run's usage so far.
func (t *turn) spent() coordination.RunOver {
	over := t.spend
	if over.LastUsage != nil {
		all := t.usage
		over.Usage = &all
	}
	return over
}

// failure is why a run fails.
type failure struct{ class, text string }

func (f *failure) Error() string { return f.text }

// fail is the end of a run without an answer: its context has ended, or err occurred. Its text so far is kept.
func (t *turn) fail(ctx context.Context, err error) outcome {
	if waits := (*tool.WaitsError)(nil); errors.As(err, &waits) {
		return outcome{waits: waits, over: t.spent()}
	}
	f := (*failure)(nil)
	if ctx.Err() != nil || isUnplaced(err) {
		cause := context.Cause(ctx)
		if isUnplaced(err) { // of which the context is told at the same time
			cause = err
		}
		if f = t.unplaced(cause); f == nil && isUnplaced(cause) {
			return outcome{waits: &tool.WaitsError{}, givenBack: reasonWorkerLost, over: t.spent()}
		}
		if f == nil {
			return t.interrupted(cause, t.spent())
		}
		err = f
	}
	if !errors.As(err, &f) {
		t.runner.logger.Error("a run failed", "run", t.result.RunID, "err", err)
		f = &failure{classInternal, "something failed inside; the log says what"}
	}
	o := outcome{to: run.Failed, over: t.spent()}
	o.over.Text, o.over.ErrorClass, o.over.Error = t.currentText(), f.class, f.text
	if o.last = t.partial("error"); o.last == nil {
		o.last = &coordination.SessionMessage{Author: authorAssistant, StopReason: "error"}
	}
	o.last.Error = f.text
	return o
}
