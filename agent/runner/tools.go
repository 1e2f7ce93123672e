package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// useTools runs an answer's tool calls one after the other. The answer is on disk before the first call, and each
// result before the next.
func (t *turn) useTools(ctx context.Context, answer *llm.Answer) error {
	said, calls, err := t.calling(answer)
	if err != nil {
		return err
	}
	if err := t.write(ctx, said); err != nil {
		return err
	}
	t.ahead.Store(true)
	t.setText(answer.Text)
	t.markStored()
	t.steps = append(t.steps, llm.Message{Role: llm.Assistant, Text: answer.Text, ToolCalls: calls})
	return t.useRest(ctx, calls, 0)
}

// useRest runs the calls of an answer from the one at an index on.
func (t *turn) useRest(ctx context.Context, calls []llm.ToolCall, from int) error {
	for i := from; i < len(calls); i++ {
		if n := t.before.ToolCalls + t.spend.ToolCalls; n >= t.runner.limits.ToolCalls {
			return &failure{classTools, fmt.Sprintf("no end after %d calls of tools", n)}
		}
		if err := t.useTool(ctx, &calls[i], i < t.runner.limits.AnswerCalls); err != nil {
			return err
		}
	}
	return nil
}

// block is a message block with calls.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Key identifies the call's content where Arguments, as stored, would not; see contentKey.
	Key string `json:"key,omitempty"`
	// Unmade says why the call cannot be made with Arguments: lostSecret or lostMalformed. "": it can.
	Unmade string `json:"unmade,omitempty"`
	// Nth is which of the run's calls with this content it is, if not the first: a run that goes on may not read the ones before it.
	Nth int `json:"nth,omitempty"`
}

// calling is an answer with calls as stored in the transcript, and its calls with bounded arguments.
func (t *turn) calling(answer *llm.Answer) (said *coordination.SessionMessage, calls []llm.ToolCall, err error) {
	said = t.messageOf(answer)
	said.StopReason = string(llm.ToolUse)
	var blocks []block
	if answer.Text != "" {
		blocks = append(blocks, block{Type: "text", Text: coordination.Mask(answer.Text)})
	}
	for i, c := range answer.ToolCalls {
		if most := t.runner.limits.ArgumentBytes; len(c.Arguments) > most && c.Malformed == "" {
			c.Arguments, c.Malformed = json.RawMessage("{}"), fmt.Sprintf("%d bytes; at most %d can be given", len(c.Arguments), most)
		}
		if i < t.runner.limits.AnswerCalls && c.Malformed == "" {
			t.callID(&c)
		}
		calls = append(calls, c)
		blocks = append(blocks, stored(&c))
	}
	said.Content, err = json.Marshal(blocks)
	return said, calls, err
}

// maskArguments masks secrets in arguments. What is invalid JSON afterwards is dropped.
func maskArguments(arguments json.RawMessage) json.RawMessage {
	if masked := json.RawMessage(coordination.Mask(string(arguments))); json.Valid(masked) {
		return masked
	}
	return json.RawMessage("{}")
}

// repetition is a call with its result.
type repetition struct {
	name, arguments, text string
	isError               bool
	times                 int
}

// useTool runs a tool if allowed, and stores its result.
func (t *turn) useTool(ctx context.Context, c *llm.ToolCall, allowed bool) error {
	t.spend.ToolCalls++
	t.notify(run.Update{Kind: run.ToolStart, ToolCallID: c.ID, ToolName: c.Name, Args: maskArguments(c.Arguments)})
	var out tool.Output
	var err error
	switch {
	case !allowed:
		out = refused(fmt.Sprintf("Not called: an answer may ask for at most %d calls. Ask for the others in the next one.", t.runner.limits.AnswerCalls))
	case c.Unmade != "":
		out = refused(notRepeated(c.Unmade))
	case c.Malformed != "":
		out = refused("Not called: the arguments must be a JSON object that fits the tool's schema, but they are " +
			shorten(c.Malformed, maxMalformed))
	default:
		out, err = t.call(ctx, c)
	}
	if err != nil {
		return err
	}
	text := shorten(out.Text, t.runner.limits.ToolBytes)
	err = t.write(ctx, &coordination.SessionMessage{Author: authorTool, Text: text, ToolCallID: c.ID, ToolName: c.Name, IsError: out.IsError})
	if err != nil {
		return err
	}
	t.notify(run.Update{Kind: run.ToolResult, ToolCallID: c.ID, ToolName: c.Name, Output: text, IsError: out.IsError})
	t.steps = append(t.steps, llm.Message{Role: llm.ToolRole, Text: text, ToolCallID: c.ID, ToolName: c.Name, IsError: out.IsError})
	if times := t.repeated(c, text, out.IsError); times >= t.runner.limits.Repeats {
		return &failure{classTools, fmt.Sprintf("the model called %s %d times in a row with the same arguments, and got the same result",
			llm.Clean(c.Name), times)}
	}
	return nil
}

// repeated counts equal calls with equal results in a row, up to this one.
func (t *turn) repeated(c *llm.ToolCall, text string, isError bool) int {
	now := repetition{c.Name, string(c.Arguments) + c.Malformed, text, isError, t.last.times}
	if now != t.last {
		now.times = 0
	}
	now.times++
	t.last = now
	return now.times
}

// maxMalformed is how many bytes of malformed arguments are shown to the model.
const maxMalformed = 200

func refused(text string) tool.Output { return tool.Output{Text: text, IsError: true} }

// callResult is the result of a call.
type callResult struct {
	out   tool.Output
	err   error
	panic any
	stack []byte
}

// call runs a tool. One that ignores the end of its context is abandoned after the grace period.
func (t *turn) call(ctx context.Context, c *llm.ToolCall) (tool.Output, error) {
	box := t.runner.o.Tools
	if box == nil {
		return refused("There are no tools."), nil
	}
	caller := t.caller
	caller.CallID = t.callID(c)
	done := make(chan callResult, 1)
	go func() {
		var r callResult
		defer func() {
			if r.panic = recover(); r.panic != nil {
				r.stack = debug.Stack()
			}
			done <- r
		}()
		r.out, r.err = box.Call(ctx, caller, c.Name, c.Arguments)
	}()
	select {
	case r := <-done:
		return t.outcomeOf(ctx, c, r)
	case <-ctx.Done():
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.runner.o.Grace)
	defer cancel()
	select {
	case <-done:
	case <-graceful.Done():
		t.runner.leave(t.result.RunID, c.Name, done)
	}
	return tool.Output{}, context.Cause(ctx)
}

// callID identifies a call by its content and its Nth within the run, which it counts once. It is stable across a retry of the run,
// although the model then generates other ids.
func (t *turn) callID(c *llm.ToolCall) string {
	id := c.Key
	if id == "" {
		id = contentKey(c.Name, c.Arguments)
	}
	if t.called == nil {
		t.called = map[string]int{}
	}
	if c.Nth == 0 {
		c.Nth = t.called[id] + 1
	}
	t.called[id] = max(t.called[id], c.Nth)
	return id + "." + strconv.Itoa(c.Nth)
}

// contentKey identifies what a call asks for.
func contentKey(name string, arguments json.RawMessage) string {
	sum := sha256.Sum256([]byte(name + "\x00" + string(arguments)))
	return hex.EncodeToString(sum[:16])
}

// leave counts a tool that continues after its run is over, until it ends.
func (r *Runner) leave(runID, name string, done <-chan callResult) {
	r.leftBehind.Add(1)
	r.logger.Warn("tool still running after the end of its run; abandoned", "run", runID, "tool", name)
	go func() {
		<-done
		r.leftBehind.Add(-1)
	}()
}

// outcomeOf is the result shown to the model. A caller's error is shown, so that the model can correct it; internal
// errors are only logged. A panic ends the run.
func (t *turn) outcomeOf(ctx context.Context, c *llm.ToolCall, r callResult) (tool.Output, error) {
	var e *tool.Error
	var waits *tool.WaitsError
	switch {
	case r.panic != nil:
		t.runner.logger.Error("a tool panicked", "run", t.activeRun.result.RunID, "tool", c.Name, "panic", r.panic, "stack", string(r.stack))
		return tool.Output{}, &failure{classInternal, "something broke inside a tool; the log says what"}
	case r.err == nil:
		return r.out, nil
	case errors.As(r.err, &waits):
		return tool.Output{}, waits
	case ctx.Err() != nil:
		return tool.Output{}, context.Cause(ctx)
	case errors.As(r.err, &e):
		text := e.Text
		if e.Field != "" {
			text = e.Field + ": " + text
		}
		if e.Hint != "" {
			text += ". " + e.Hint
		}
		return refused(text), nil
	}
	t.runner.logger.Error("a tool failed", "run", t.activeRun.result.RunID, "tool", c.Name, "err", r.err)
	return refused("The tool failed."), nil
}

// write appends a step to the transcript. It returns when that is on disk or the run is over.
func (t *turn) write(ctx context.Context, m *coordination.SessionMessage) error {
	id := t.activeRun.result.RunID
	return t.runner.persist(ctx, id, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		result, found, err := runs.Load(tx, id)
		switch {
		case err != nil:
			return nil, err
		case !found || result.State != run.Running:
			return nil, &run.Refusal{Reason: run.CodeOver, Field: "state", Value: string(result.State), Text: "run " + id + " is over"}
		}
		return t.runner.appendMessage(tx, result, t.asked, m, t.runner.now().UnixMilli())
	})
}
