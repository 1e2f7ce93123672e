package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// twoCalls asks for two tools at once, and answers when it has both results.
const twoCalls = `{"when": {"contains": ["use both"], "offers": "look"}, "answer": {"text": "I use both.", "toolCalls": [
	{"name": "look", "arguments": {"n":1}}, {"name": "wait", "arguments": {"n":2}}]}},
	{"when": {"after": "tool"}, "answer": {"text": "I have {{result}}"}}`

// calls records which calls were made with which ids.
type calls struct {
	mu  sync.Mutex
	ids []string
}

func (c *calls) add(name string, caller tool.Caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = append(c.ids, name+" "+caller.CallID)
}

func (c *calls) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ids)
}

// toolsThat answer look at once, and do not end wait while stuck is set.
func (c *calls) toolsThat(stuck bool) box {
	return box{
		"look": func(_ context.Context, caller tool.Caller, _ json.RawMessage) (tool.Output, error) {
			c.add("look", caller)
			return tool.Output{Text: "seen"}, nil
		},
		"wait": func(ctx context.Context, caller tool.Caller, _ json.RawMessage) (tool.Output, error) {
			c.add("wait", caller)
			if stuck {
				<-ctx.Done()
				return tool.Output{}, ctx.Err()
			}
			return tool.Output{Text: "waited"}, nil
		},
	}
}

// A run that a restart interrupts while a tool is under way goes on there: steps on disk are not made again, and the call without a result
// is made again with its id. The run that was interrupted is aborted, as before.
//
// Promise: resume
func TestRunGoesOnAtItsLastStep(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"killed": true, "shut down": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made calls
			before := setup(t, setting{script: twoCalls, tools: made.toolsThat(true)})
			before.say("r1", "main", "use both")
			before.until("r1", func(u run.Update) bool { return u.Kind == run.ToolStart && u.ToolName == "wait" })
			if kill {
				if err := before.db.Close(); err != nil { // nothing more is written, as if the process were gone
					t.Fatal(err)
				}
			}
			before.stop()
			before.close()

			h := openAt(t, before.path, setting{script: twoCalls, tools: made.toolsThat(false)})
			interrupted := h.over("r1")
			if interrupted.State != run.Aborted {
				t.Fatalf("got %+v", interrupted)
			}
			var again run.Result
			for _, r := range h.list() {
				if r.RetryOf == "r1" {
					again = h.over(r.RunID)
				}
			}
			if again.State != run.OK || again.Over.Text != "I have waited" || again.Over.ToolCalls != 1 || again.Over.ModelCalls != 1 {
				t.Fatalf("got %+v %+v", again, again.Over)
			}
			got := made.list()
			if len(got) != 3 || !strings.HasPrefix(got[0], "look ") || got[1] != got[2] {
				t.Errorf("calls: %q", got)
			}
			want := []string{"user: use both", "assistant: I use both. (toolUse)", "tool: seen", "tool: waited", "assistant: I have waited (stop)"}
			if diff := cmp.Diff(want, h.transcript("main")); diff != "" {
				t.Error(diff)
			}
			h.stop()
			h.checkSettled()
		})
	}
}

// Without steps on disk, or where the configuration says so, a run is broken off as before.
func TestWhatIsNotContinued(t *testing.T) {
	t.Parallel()
	var made calls
	before := setup(t, setting{script: twoCalls, tools: made.toolsThat(true)})
	before.say("r1", "main", "use both")
	before.until("r1", func(u run.Update) bool { return u.Kind == run.ToolStart && u.ToolName == "wait" })
	if err := before.db.Close(); err != nil {
		t.Fatal(err)
	}
	before.stop()
	before.close()

	h := openAt(t, before.path, setting{script: twoCalls, tools: made.toolsThat(false), config: `{agents: {defaults: {resume: 'off'}}}`})
	if r := h.over("r1"); r.State != run.Aborted || r.Over.Reason != "restart" {
		t.Errorf("got %+v", r.Over)
	}
	if list := h.list(); len(list) != 1 {
		t.Errorf("%d runs: %+v", len(list), list)
	}
	h.stop()
	h.checkSettled()
}

// A run that never gets ahead is given up after three attempts to go on, in case it ends the process itself.
func TestRunThatNeverGetsAheadIsGivenUp(t *testing.T) {
	t.Parallel()
	var made calls
	set := setting{script: twoCalls, tools: made.toolsThat(true)}
	h := setup(t, set)
	h.say("r1", "main", "use both")
	id := "r1"
	for range 4 {
		h.until(id, func(u run.Update) bool { return u.Kind == run.ToolStart && u.ToolName == "wait" })
		if err := h.db.Close(); err != nil {
			t.Fatal(err)
		}
		h.stop()
		h.close()
		h = openAt(t, h.path, set)
		h.over(id)
		for _, r := range h.list() {
			if !r.State.Over() {
				id = r.RunID
			}
		}
	}
	if list := h.list(); len(list) != 4 || !list[3].State.Over() {
		t.Errorf("%d attempts: %+v", len(list), list)
	}
	h.stop()
	h.checkSettled()
}

// A call whose arguments are not on disk as the model wrote them is not made with others after a restart, and the id of a call does not
// depend on how its arguments are stored.
func TestStoredCallsAreTheModelsOwn(t *testing.T) {
	t.Parallel()
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for name, arguments := range map[string]string{"as written": `{ "a" :  "<b>" }`, "a secret": fmt.Sprintf(`{"token": %q}`, secret)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := `{"when": {"contains": ["use it"], "offers": "wait"}, "answer": {"text": "I wait.", "toolCalls": [{"name": "wait", "arguments": ` + arguments + `}]}},
				{"when": {"after": "tool"}, "answer": {"text": "I have {{result}}"}}`
			var made calls
			before := setup(t, setting{script: script, tools: made.toolsThat(true)})
			before.say("r1", "main", "use it")
			before.until("r1", is(run.ToolStart))
			before.untilCalled(&made, 1)
			if err := before.db.Close(); err != nil {
				t.Fatal(err)
			}
			before.stop()
			before.close()

			h := openAt(t, before.path, setting{script: script, tools: made.toolsThat(false)})
			h.over("r1")
			for _, r := range h.list() {
				h.over(r.RunID)
			}
			got, lines := made.list(), h.transcript("main")
			if name == "a secret" {
				if len(got) != 1 || !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "may or may not have had its effect") }) {
					t.Errorf("calls %q, transcript %q", got, lines)
				}
				return
			}
			if len(got) != 2 || got[0] != got[1] {
				t.Errorf("calls %q, transcript %q", got, lines)
			}
		})
	}
}

// untilCalled waits until so many calls were made.
func (h *fixture) untilCalled(c *calls, n int) {
	h.t.Helper()
	for late := time.Now().Add(patience); len(c.list()) < n; runtime.Gosched() {
		if time.Now().After(late) {
			h.t.Fatalf("calls: %q", c.list())
		}
	}
}

// Calls that were refused before the restart do not count: the one that was under way is made again with its id.
func TestRefusedCallsDoNotChangeIDs(t *testing.T) {
	t.Parallel()
	const script = `{"when": {"contains": ["use both"], "step": 1}, "answer": {"text": "I use both.", "toolCalls": [
		{"name": "look", "arguments": {"n":1}}, {"name": "wait", "arguments": {"n":2}}]}},
		{"when": {"after": "tool", "step": 2}, "answer": {"text": "I wait.", "toolCalls": [{"name": "wait", "arguments": {"n":2}}]}},
		{"when": {"after": "tool"}, "answer": {"text": "I have {{result}}"}}`
	var made calls
	limits := runner.Limits{AnswerCalls: 1}
	before := setup(t, setting{script: script, tools: made.toolsThat(true), limits: limits})
	before.say("r1", "main", "use both")
	before.untilCalled(&made, 2)
	if err := before.db.Close(); err != nil {
		t.Fatal(err)
	}
	before.stop()
	before.close()

	h := openAt(t, before.path, setting{script: script, tools: made.toolsThat(false), limits: limits})
	h.over("r1")
	for _, r := range h.list() {
		h.over(r.RunID)
	}
	if got := made.list(); len(got) != 3 || got[1] != got[2] {
		t.Errorf("calls %q, transcript %q", got, h.transcript("main"))
	}
}

// A run that goes on makes the call that was under way with its id, also if it does not read the equal one before it: else it would take
// that one's result and approval.
func TestEarlierCallsNeedNotBeRead(t *testing.T) {
	t.Parallel()
	const script = `{"when": {"contains": ["use it"], "step": 1}, "answer": {"text": "Once.", "toolCalls": [{"name": "wait", "arguments": {"n":1}}]}},
		{"when": {"after": "tool", "step": 2}, "answer": {"text": "Twice.", "toolCalls": [{"name": "wait", "arguments": {"n":1}}]}},
		{"when": {"after": "tool"}, "answer": {"text": "I have {{result}}"}}`
	var made calls
	wait := func(stuck bool) box {
		return box{"wait": func(ctx context.Context, caller tool.Caller, _ json.RawMessage) (tool.Output, error) {
			made.add("wait", caller)
			switch n := len(made.list()); {
			case n == 1:
				return tool.Output{Text: "first"}, nil
			case stuck:
				<-ctx.Done()
				return tool.Output{}, ctx.Err()
			}
			return tool.Output{Text: "second"}, nil
		}}
	}
	before := setup(t, setting{script: script, tools: wait(true)})
	before.say("r1", "main", "use it")
	before.untilCalled(&made, 2)
	if err := before.db.Close(); err != nil {
		t.Fatal(err)
	}
	before.stop()
	before.close()

	h := openAt(t, before.path, setting{script: script, tools: wait(false), limits: runner.Limits{HistoryMessages: 1}})
	h.over("r1")
	for _, r := range h.list() {
		h.over(r.RunID)
	}
	got := made.list()
	if len(got) < 3 || got[0] == got[1] || got[1] != got[2] || slices.Contains(got[3:], got[0]) || slices.Contains(got[3:], got[1]) {
		t.Errorf("calls %q, transcript %q", got, h.transcript("main"))
	}
}
