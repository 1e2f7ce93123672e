package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Promise: order
func TestMessagesOfASessionAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	for i := range 8 {
		for _, s := range []string{"a", "b", "c"} {
			h.say(fmt.Sprint(s, i), s, fmt.Sprint(i))
		}
	}
	for _, s := range []string{"a", "b", "c"} {
		var want []string
		for i := range 8 {
			h.ends(fmt.Sprint(s, i), run.OK, fmt.Sprint("echo: ", i))
			want = append(want, fmt.Sprint("user: ", i), fmt.Sprint("assistant: echo: ", i, " (stop)"))
		}
		if diff := cmp.Diff(want, h.transcript(s)); diff != "" {
			t.Errorf("%s: %s", s, diff)
		}
	}
	if diff := cmp.Diff([]string{"queued", "started", "ended"}, h.events("a3")); diff != "" {
		t.Error(diff)
	}
	h.checkSettled()
	h.idle()
	if s := h.Stats(); s != (runner.Stats{}) {
		t.Errorf("left over: %+v", s)
	}
}

// A message to a session that answers another one waits for its turn, and has its own answer under its own id.
func TestTwoSendsToABusySession(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `{"when": {"contains": ["first"]}, "answer": {"text": "one two", "delay": "1s"}}, ` + echo})
	h.say("r1", "main", "first")
	h.until("r1", is(run.Text))
	if ahead := h.say("r2", "main", "second").Ahead; ahead != 1 {
		t.Errorf("%d ahead", ahead)
	}
	h.ends("r2", run.OK, "echo: second")
	h.ends("r1", run.OK, "one two")
	if diff := cmp.Diff([]string{"started", "text one ", "text one two", "ended ok"}, h.told("r1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"started", "text echo: ", "text echo: second", "ended ok"}, h.told("r2")); diff != "" {
		t.Error(diff)
	}
}

// A plain run costs three commits; each answer that asks for a tool, and each tool, costs one more.
func TestRunsCostFewCommits(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: useTool + "," + echo, tools: box{"look": text("x")}})
	for i, c := range []struct {
		message string
		commits int64
	}{{"hello", 3}, {"use it", 5}} {
		before := h.log.written.Load()
		id := fmt.Sprint("r", i)
		h.say(id, "main", c.message)
		h.over(id)
		if got := h.log.written.Load() - before; got != c.commits {
			t.Errorf("%s: %d commits", c.message, got)
		}
	}
}

const useTool = `{"when": {"contains": ["use"], "offers": "look"}, "answer": {"text": "I look.", "toolCalls": [{"name": "look", "arguments": {"at":"{{message}}"}}]}},
	{"when": {"after": "tool"}, "answer": {"text": "It says {{result}}"}}`

func TestToolsAreCalledAndEachStepIsOnDisk(t *testing.T) {
	t.Parallel()
	var h *fixture
	var caller tool.Caller
	var before []string
	h = setup(t, setting{script: useTool, tools: box{"look": func(_ context.Context, c tool.Caller, args json.RawMessage) (tool.Output, error) {
		caller, before = c, h.transcript("main")
		return tool.Output{Text: "sun " + string(args)}, nil
	}}})
	h.say("r1", "main", "use it")
	r := h.ends("r1", run.OK, `It says sun {"at":"use it"}`)
	if o := r.Over; o.ModelCalls != 2 || o.ToolCalls != 1 || o.StopReason != "stop" || o.Provider != "scripted" || o.Usage == nil ||
		o.LastUsage == nil || o.Usage.Input <= o.LastUsage.Input || o.FallbackFrom != "" {
		t.Errorf("got %+v", o)
	}
	if diff := cmp.Diff([]string{"user: use it", "assistant: I look. (toolUse)"}, before); diff != "" {
		t.Errorf("before the tool was called: %s", diff)
	}
	want := tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: "agent:eden:main", SessionID: r.SessionID, RunID: "r1", AskedID: caller.AskedID, CallID: caller.CallID}
	if diff := cmp.Diff(want, caller); diff != "" || caller.CallID == "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"user: use it", "assistant: I look. (toolUse)", `tool: sun {"at":"use it"}`,
		`assistant: It says sun {"at":"use it"} (stop)`}, h.transcript("main")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"started", "text I ", "text I look.", `tool_start look {"at":"use it"}`, `tool_result sun {"at":"use it"}`,
		"text It  (again)", "text It says ", "text It says sun ", `text It says sun {"at":"use `,
		`text It says sun {"at":"use it"}`, "ended ok"}, h.told("r1")); diff != "" {
		t.Error(diff)
	}
	// What comes later reads all of it.
	h.say("r2", "main", "use again")
	h.over("r2")
}

func TestToolErrorsAreReportedToTheModel(t *testing.T) {
	t.Parallel()
	calls := func(what string) string {
		return `{"when": {"after": "user"}, "answer": {"toolCalls": [` + what + `]}}, {"when": {"after": "tool"}, "answer": {"text": "{{result}}"}}`
	}
	for name, c := range map[string]struct {
		script, want string
		tools        box
		limits       runner.Limits
	}{
		"unknown": {script: calls(`{"name": "nothing"}`), want: "there is no tool nothing. Call one that there is"},
		"malformed": {script: calls(`{"name": "look", "rawArguments": "{\"at\":"}`),
			want: `Not called: the arguments must be a JSON object that fits the tool's schema, but they are {"at":`},
		"invalid": {script: calls(`{"name": "look"}`), want: "/at: is missing. Give it", tools: box{"look": func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
			return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Tool: "look", Field: "/at", Text: "is missing", Hint: "Give it"}
		}}},
		"broken": {script: calls(`{"name": "look"}`), want: "The tool failed.", tools: box{"look": func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
			return tool.Output{}, fmt.Errorf("a secret reason")
		}}},
		"long": {script: calls(`{"name": "look"}`), want: "한\n...(truncated: the first 3 of 12 bytes)...", tools: box{"look": text("한국어로")}, limits: runner.Limits{ToolBytes: 5}},
		"too many": {script: calls(`{"name": "look"}, {"name": "wait"}`), want: "Not called: an answer may ask for at most 1 calls. Ask for the others in the next one.",
			tools: box{"look": text("a"), "wait": text("b")}, limits: runner.Limits{AnswerCalls: 1}},
		"long arguments": {script: calls(`{"name": "look", "arguments": {"at":"0123456789"}}`), tools: box{"look": text("a")}, limits: runner.Limits{ArgumentBytes: 10},
			want: "Not called: the arguments must be a JSON object that fits the tool's schema, but they are 19 bytes; at most 10 can be given"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.tools == nil {
				c.tools = box{"look": text("x")}
			}
			h := setup(t, setting{script: c.script, tools: c.tools, limits: c.limits})
			h.say("r1", "main", "go")
			h.ends("r1", run.OK, c.want)
			if name != "long" && !strings.Contains(strings.Join(h.transcript("main"), "\n"), "(error)") {
				t.Errorf("no error in %q", h.transcript("main"))
			}
		})
	}
}

func TestEndlessRunsAreEnded(t *testing.T) {
	t.Parallel()
	const loop = `{"when": {"after": "any"}, "answer": {"text": "again", "toolCalls": [{"name": "look"}]}}`
	for name, c := range map[string]struct {
		tools  box
		limits runner.Limits
		calls  int
		want   string
	}{
		"the same again": {box{"look": text("same")}, runner.Limits{}, 4, "called look 4 times in a row"},
		"unknown again":  {box{}, runner.Limits{}, 4, "called look 4 times in a row"},
		"models":         {counting(), runner.Limits{ModelCalls: 3}, 3, "no end after 3 calls of models"},
		"tools":          {counting(), runner.Limits{ToolCalls: 5}, 5, "no end after 5 calls of tools"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, setting{script: loop, tools: c.tools, limits: c.limits})
			h.say("r1", "main", "go")
			r := h.ends("r1", run.Failed, "again")
			if r.Over.ErrorClass != "tools" || !strings.Contains(r.Over.Error, c.want) || r.Over.ToolCalls != c.calls {
				t.Errorf("got %+v", r.Over)
			}
			h.checkSettled()
		})
	}
}

// counting is a tool that never says the same.
func counting() box {
	var n atomic.Int64
	return box{"look": func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
		return tool.Output{Text: fmt.Sprint(n.Add(1))}, nil
	}}
}

func TestPanicsEndTheirRunAlone(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: useTool + "," + echo, tools: box{"look": func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) { panic("on purpose") }}})
	h.say("r1", "main", "use it")
	h.say("r2", "main", "hello")
	r := h.ends("r1", run.Failed, "I look.")
	if r.Over.ErrorClass != "internal" || strings.Contains(r.Over.Error, "on purpose") {
		t.Errorf("got %+v", r.Over)
	}
	h.ends("r2", run.OK, "echo: hello")

	offering := setup(t, setting{tools: panicking{}})
	offering.say("r1", "main", "hello")
	if r := offering.ends("r1", run.Failed, ""); r.Over.ErrorClass != "internal" {
		t.Errorf("got %+v", r.Over)
	}
}

type panicking struct{ box }

func (panicking) Offer(tool.Caller) []tool.Spec { panic("on purpose") }

// The time of a run begins when the run does: to wait for its turn costs it nothing.
func TestTimeBeginsWithTheRun(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `{"when": {"contains": ["slow"]}, "answer": {"text": "a b c d", "delay": "500ms"}}, ` + echo})
	h.say("slow", "main", "slow")
	quick := ask(t, "quick", "main", "quick")
	ms := int64(1_200)
	quick.TimeoutMs = &ms
	h.queue(quick)
	r := h.ends("quick", run.OK, "echo: quick")
	if waited := r.StartedAt - r.QueuedAt; waited < ms {
		t.Errorf("it waited for %d ms only", waited)
	}
}

func TestRunThatTakesTooLongIsOver(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `{"when": {"contains": ["hang"]}, "answer": {"text": "one two three", "fault": {"hang": true, "after": 2}}}, ` + echo})
	a := ask(t, "r1", "main", "hang")
	ms := int64(800)
	a.TimeoutMs = &ms
	h.queue(a)
	h.say("r2", "main", "next")
	r := h.ends("r1", run.TimedOut, "one two ")
	if r.Over.Error != "the run took longer than 800ms" || r.EndedAt-r.StartedAt < ms {
		t.Errorf("got %+v", r)
	}
	h.ends("r2", run.OK, "echo: next")
	if diff := cmp.Diff([]string{"user: hang", "assistant: one two  (aborted)", "user: next", "assistant: echo: next (stop)"}, h.transcript("main")); diff != "" {
		t.Error(diff)
	}
	h.checkSettled()
}

// B6: the text of a run is its own, though an older one said something and this one says nothing.
//
// Promise: own-answer
func TestB6_NoStaleReply(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `{"when": {"contains": ["silence"]}, "answer": {"text": ""}}, {"when": {"contains": ["fail"]}, "answer": {"fault": {"class": "rejected"}}}, ` + echo})
	h.say("r1", "main", "hello")
	h.say("r2", "main", "silence")
	h.say("r3", "main", "fail")
	h.ends("r1", run.OK, "echo: hello")
	h.ends("r2", run.OK, "")
	h.ends("r3", run.Failed, "")
	if diff := cmp.Diff([]string{"user: hello", "assistant: echo: hello (stop)", "user: silence", "assistant:  (stop)", "user: fail", "assistant:  (error)"},
		h.transcript("main")); diff != "" {
		t.Error(diff)
	}
}

func TestSessionsAndTheirSettings(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `{"answer": {"text": "{{model}} {{turn}}"}}`})
	h.patch("main", `{"model": "scripted/big"}`)
	h.say("r1", "main", "hello")
	h.ends("r1", run.OK, "big 1")
	other := ask(t, "r2", "main", "hello")
	other.Model = "scripted/small"
	h.queue(other)
	r2 := h.ends("r2", run.OK, "small 2")
	again := ask(t, "r3", "main", "hello")
	again.Reset = "new"
	h.queue(again)
	if r := h.ends("r3", run.OK, "big 1"); r.SessionID == r2.SessionID || r.SessionID != h.session("main").ID {
		t.Errorf("got %+v", r)
	}
	// It is there though its session was deleted before it began.
	h.stop()
	h.say("r4", "main", "hello")
	h.delete("main")
	h.wake()
	if r := h.ends("r4", run.OK, "scripted 1"); r.SessionID != h.session("main").ID {
		t.Errorf("got %+v", r)
	}
	h.stop()
	h.checkSettled()
}

func (h *fixture) delete(name string) {
	h.t.Helper()
	k := key(h.t, name)
	_, err := h.db.Decide(h.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		s, _, err := sessions.Load(tx, k)
		if err != nil {
			return nil, err
		}
		decided, err := session.Delete(s, session.DeleteCommand{Main: coordination.MainKey("stranger")})
		if err != nil {
			return nil, err
		}
		return sessions.Append(s, eventstore.ActorHuman, time.Now().UnixMilli(), decided)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// A run whose session is deleted while it runs ends like any other, and does not bring the session back.
func TestSessionIsDeletedWhileItsRunRuns(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	h := setup(t, setting{script: useTool, tools: box{"look": func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
		<-hold
		return tool.Output{Text: "x"}, nil
	}}})
	h.say("r1", "main", "use it")
	h.until("r1", is(run.ToolStart))
	h.delete("main")
	close(hold)
	h.ends("r1", run.OK, "It says x")
	if s := h.session("main"); s != nil {
		t.Errorf("it is back: %+v", s)
	}
}

func TestMessageThatWasRedactedFails(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{asleep: true})
	h.say("r1", "main", "a secret")
	h.say("r2", "main", "hello")
	r, _, err := h.Get(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.db.Redact(t.Context(), r.Seq); err != nil {
		t.Fatal(err)
	}
	h.wake()
	if r := h.ends("r1", run.Failed, ""); r.Over.ErrorClass != "prompt" {
		t.Errorf("got %+v", r.Over)
	}
	h.ends("r2", run.OK, "echo: hello")
	if diff := cmp.Diff([]string{"ended error"}, h.told("r1")); diff != "" {
		t.Error(diff)
	}
	h.checkSettled()
}
