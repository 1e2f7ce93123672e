package runner_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// What ends the process each time is started three times in all, then only reported; and each time the model reads the message once.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	read := make(chan string, 10)
	var e endpoint
	conf := e.serve(t, func(_ http.ResponseWriter, r *http.Request, body string, _ int) {
		read <- body
		<-r.Context().Done()
	})
	h := setup(t, setting{config: conf})
	a := ask(t, "r1", "main", "unusual")
	a.OnRestart = "retry"
	h.queue(a)
	for range run.MaxAttempts {
		if n := strings.Count(<-read, "unusual"); n != 1 {
			t.Errorf("the model reads the message %d times", n)
		}
		if err := h.db.Close(); err != nil { // as if the process were gone
			t.Fatal(err)
		}
		h.stop()
		h = openAt(t, h.path, setting{config: conf})
	}
	list := h.list()
	for _, r := range list {
		if r := h.over(r.RunID); r.State != run.Aborted || r.Over.Reason != "restart" || r.RunID != "r1" && r.RetryOf != "r1" {
			t.Errorf("got %+v", r)
		}
	}
	if list = h.list(); len(list) != run.MaxAttempts {
		t.Errorf("it was started %d times", len(list))
	}
	h.checkSettled()
}

// Who stops a run that the end of the program breaks off stops it for good.
func TestStopWhileTheProgramEnds(t *testing.T) {
	t.Parallel()
	broken, hold := make(chan struct{}), make(chan struct{})
	h := setup(t, setting{script: useTool, tools: box{"look": func(ctx context.Context, _ tool.Caller, _ json.RawMessage) (tool.Output, error) {
		<-ctx.Done()
		close(broken)
		<-hold
		return tool.Output{}, ctx.Err()
	}}, grace: patience})
	a := ask(t, "r1", "main", "use it")
	a.OnRestart = "retry"
	h.queue(a)
	h.until("r1", is(run.ToolStart))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.stop()
	}()
	<-broken
	stopped := make(chan []string, 1)
	go func() { stopped <- h.halt(run.Stop{RunID: "r1", Reason: "rpc", By: "cli"}) }()
	for h.Stats().Waiters == 0 { // it waits once it is decided
		runtime.Gosched()
	}
	close(hold)
	<-ended
	if diff := cmp.Diff([]string{"r1"}, <-stopped); diff != "" {
		t.Error(diff)
	}
	if r := h.ends("r1", run.Aborted, "I look."); r.Over.Reason != "rpc" || r.Over.By != "cli" {
		t.Errorf("got %+v", r.Over)
	}
	if list := h.list(); len(list) != 1 {
		t.Errorf("it is asked for again: %+v", list)
	}
}

// Who stops a run that a process has left, before that is found out, stops it for good, too.
func TestStopAfterARestart(t *testing.T) {
	t.Parallel()
	before := setup(t, setting{script: hangs})
	a := ask(t, "r1", "main", "hang")
	a.OnRestart = "retry"
	before.queue(a)
	before.until("r1", says("one two "))
	if err := before.db.Close(); err != nil { // as if the process were gone
		t.Fatal(err)
	}
	before.stop()
	h := openAt(t, before.path, setting{asleep: true})
	stopped := make(chan []string, 1)
	go func() { stopped <- h.halt(run.Stop{RunID: "r1", Reason: "rpc", By: "cli"}) }()
	for h.Stats().Waiters == 0 { // it waits once it is decided
		runtime.Gosched()
	}
	h.wake()
	if diff := cmp.Diff([]string{"r1"}, <-stopped); diff != "" {
		t.Error(diff)
	}
	if r := h.ends("r1", run.Aborted, ""); r.Over.Reason != "rpc" {
		t.Errorf("got %+v", r.Over)
	}
	if list := h.list(); len(list) != 1 {
		t.Errorf("it is asked for again: %+v", list)
	}
	h.idle()
	h.checkSettled()
}

// A run that cannot begin, here because what asked for it makes no sense, fails; who waits is told, and what is behind it goes on.
func TestWhatCannotBeginFails(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{asleep: true})
	data := `{"runId":"bad","sessionKey":"agent:eden:main","lane":"main","cause":"chat","message":5}`
	if _, err := h.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.RunStream("bad"),
		Events: []eventstore.NewEvent{{Type: coordination.TypeRunQueued, AgentID: "eden", Data: json.RawMessage(data)}}}); err != nil {
		t.Fatal(err)
	}
	h.say("r2", "main", "next")
	h.wake()
	if r := h.ends("bad", run.Failed, ""); r.Over.ErrorClass != "internal" || r.Over.Error == "" {
		t.Errorf("got %+v", r.Over)
	}
	h.ends("r2", run.OK, "echo: next")
	if diff := cmp.Diff([]string{"ended error"}, h.told("bad")); diff != "" {
		t.Error(diff)
	}
	h.checkSettled()
}

// Only what the present attempt has said counts: what one that failed has started to say is no one's answer.
func TestTextOfAnAttemptThatFailed(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `{"when": {"attempt": 1}, "answer": {"text": "half an answer", "fault": {"class": "unavailable", "after": 2}}},
		{"when": {"attempt": 2}, "answer": {"text": "x", "fault": {"class": "rejected"}}}`})
	h.say("r1", "main", "hi")
	h.ends("r1", run.Failed, "")
	if diff := cmp.Diff([]string{"user: hi", "assistant:  (error)"}, h.transcript("main")); diff != "" {
		t.Error(diff)
	}
}

// What the prompt was made of is known of every run that had one.
func TestRunEndRecordsPrompt(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `{"when": {"contains": ["bad"]}, "answer": {"fault": {"class": "rejected"}}}, ` + hangs})
	h.say("fine", "a", "hello")
	h.say("bad", "b", "bad")
	h.say("long", "c", "hang")
	h.until("long", says("one two "))
	h.halt(run.Stop{RunID: "long", Reason: "rpc"})
	for _, id := range []string{"fine", "bad", "long"} {
		var report prompt.Report
		r := h.over(id)
		if err := json.Unmarshal(r.Over.Prompt, &report); err != nil || report.Window == 0 || report.Told != 1 {
			t.Errorf("%s: %s, %v", id, r.Over.Prompt, err)
		}
		if strings.Contains(string(r.Over.Prompt), "hello") {
			t.Errorf("the report tells %s", r.Over.Prompt)
		}
	}
}

func (h *fixture) reset(name string) (old string) {
	h.t.Helper()
	_, err := h.db.Decide(h.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		s, _, err := sessions.Load(tx, key(h.t, name))
		if err != nil {
			return nil, err
		}
		old = s.ID
		decided, err := session.Reset(s, session.ResetCommand{Command: session.Command{NewID: "after-" + s.ID}, Reason: "reset"})
		if err != nil {
			return nil, err
		}
		return sessions.Append(s, eventstore.ActorHuman, time.Now().UnixMilli(), decided)
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return old
}

// A run whose session starts over in its middle speaks on in the transcript that it began in; the next one reads nothing of it. What was
// meant for that transcript, and has not started, is aborted; what was meant for none, or one that no one knows, begins.
func TestResetInTheMiddle(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	h := setup(t, setting{script: useTool + "," + echo, tools: box{"look": func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
		<-hold
		return tool.Output{Text: "x"}, nil
	}}})
	h.say("r1", "main", "use it")
	h.until("r1", is(run.ToolStart))
	meant := ask(t, "meant", "main", "for that")
	meant.SessionID = h.session("main").ID
	h.queue(meant)
	unheard := ask(t, "unheard", "main", "for any")
	unheard.SessionID = "unheard of"
	h.queue(unheard)
	old := h.reset("main")
	h.say("r2", "main", "next")
	close(hold)
	h.ends("r1", run.OK, "It says x")
	if r := h.ends("meant", run.Aborted, ""); r.Over.Reason != "reset" || r.StartedAt != 0 {
		t.Errorf("got %+v", r)
	}
	h.ends("r2", run.OK, "echo: next")
	if diff := cmp.Diff([]string{"user: for any", "assistant: echo: for any (stop)", "user: next", "assistant: echo: next (stop)"},
		h.transcript("main")); diff != "" {
		t.Error(diff)
	}
	var said []string
	err := h.db.View(t.Context(), func(tx *sql.Tx) error {
		messages, err := sessions.Newest(t.Context(), tx, old, 100, 1<<20)
		for _, m := range messages {
			said = append(said, m.Data.Author+": "+m.Data.Text)
		}
		return err
	})
	if diff := cmp.Diff([]string{"user: use it", "assistant: I look.", "tool: x", "assistant: It says x"}, said); diff != "" || err != nil {
		t.Error(diff, err)
	}
	h.checkSettled()
}
