package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// asking has runs asked for in a transaction of someone else's, with its reason.
func (h *fixture) asking(asks ...run.Ask) (n int, err error) {
	_, err = h.db.Decide(h.t.Context(), func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		appends = []eventstore.StreamAppend{{Stream: "log", Events: []eventstore.NewEvent{{Type: "test.reason", Data: json.RawMessage(`{}`)}}}}
		for _, a := range asks {
			more, err := h.asks.Ask(tx, a, time.Now())
			if err != nil {
				return nil, err
			}
			n += len(more)
			appends = append(appends, more...)
		}
		return appends, nil
	})
	return n, err
}

// Runs are asked for in the transaction of who wants them, in several sessions at once, and answered as any other; asked for again they are
// not, however badly.
func TestAskInAForeignTransaction(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	child := ask(t, "r2", "subagent:u1", "two")
	child.Label, child.SpawnedBy, child.JobID, child.FromAgent = "helper", "agent:eden:main", "j1", "eden"
	asks := []run.Ask{ask(t, "r1", "main", "password=hunter2hunter2"), child}
	before := h.log.decided.Load()
	if _, err := h.asking(asks...); err != nil {
		t.Fatal(err)
	}
	h.ends("r1", run.OK, "echo: password=***")
	h.ends("r2", run.OK, "echo: two")
	if s := h.session("subagent:u1"); s == nil || s.Label != "helper" || s.Spawner != "agent:eden:main" {
		t.Errorf("got %+v", s)
	}
	if r, _, err := h.Get(t.Context(), "r2"); err != nil || r.JobID != "j1" || r.Lane != run.LaneSubagent {
		t.Errorf("got %+v, %v", r, err)
	}
	if n := h.log.decided.Load() - before; n > 4 {
		t.Errorf("%d transactions of the runner's and the worker's for two runs", n)
	}
	asks[0].Message, asks[1].Model = "", "stranger/x"
	if n, err := h.asking(asks...); n != 0 || err != nil {
		t.Errorf("asked again, %d appends, %v", n, err)
	}
	if list := h.list(); len(list) != 2 {
		t.Errorf("got %+v", list)
	}
	h.checkSettled()
}

// What Queue refuses, Ask does, and then nothing of the transaction is stored.
func TestAskRefusesAsQueueDoes(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{asleep: true, room: runqueue.Limits{SessionWaiting: 1}})
	h.say("waits", "full", "hi")
	h.patch("silent", `{"sendPolicy":"deny"}`)
	head, err := h.db.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]run.Ask{
		"no message": ask(t, "r1", "main", ""), "denied": ask(t, "r1", "silent", "hi"), "full": ask(t, "r1", "full", "hi"), "no id": ask(t, "", "main", "hi"),
	} {
		_, queueing := h.Queue(t.Context(), a)
		if _, err := h.asking(a); queueing == nil || err == nil || err.Error() != queueing.Error() || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", queueing) {
			t.Errorf("%s: Queue says %v, Ask %v", name, queueing, err)
		}
	}
	a := ask(t, "r1", "main", "hi")
	a.Model = "stranger/x"
	var refusal *run.Refusal
	if _, err := h.asking(ask(t, "r2", "other", "hi"), a); !errors.As(err, &refusal) || refusal.Reason != run.CodeUnknownModel {
		t.Errorf("got %v", err)
	}
	if now, err := h.db.Head(t.Context()); err != nil || now.Seq != head.Seq {
		t.Errorf("something was stored: %+v, %v", now, err)
	}
}

// What follows from the end of a run may be another one, in another session or in the same.
func TestARunFollowsFromTheEndOfAnother(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{then: func(h *fixture, tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
		if len(e.Result.Over.Text) > 30 {
			return nil, nil
		}
		session := map[string]string{"agent:eden:main": "other", "agent:eden:other": "main"}[e.Result.SessionKey]
		return h.asks.Ask(tx, ask(h.t, e.Result.RunID+"+", session, e.Result.Over.Text), e.Now)
	}})
	h.say("r", "main", "hi")
	id, text := "r", "echo: hi"
	for len(text) <= 30 {
		h.ends(id, run.OK, text)
		id, text = id+"+", "echo: "+text
	}
	h.ends(id, run.OK, text)
	h.checkSettled()
	if s := h.session("other"); s == nil {
		t.Error("there is no other session")
	}
}

// A run that is put off does not begin before its time. What was asked for after it in its session waits with it; other sessions do not.
func TestPutOff(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{asleep: true})
	later := ask(t, "later", "main", "one")
	later.DueAtMs = time.Now().UnixMilli() + 400
	h.queue(later)
	if n := h.say("behind", "main", "two").Ahead; n != 1 {
		t.Errorf("%d ahead", n)
	}
	h.say("beside", "other", "three")
	h.wake()
	h.ends("beside", run.OK, "echo: three")
	one, two := h.over("later"), h.over("behind")
	if one.StartedAt < later.DueAtMs || two.StartedAt < one.EndedAt {
		t.Errorf("due at %d, began at %d, ended at %d; the one behind it began at %d", later.DueAtMs, one.StartedAt, one.EndedAt, two.StartedAt)
	}
	if diff := cmp.Diff([]string{"user: one", "assistant: echo: one (stop)", "user: two", "assistant: echo: two (stop)"}, h.transcript("main")); diff != "" {
		t.Error(diff)
	}
	h.checkSettled()
}

// Tools are told where the run belongs, and how many agents have passed the message on before.
func TestToolsKnowWhereTheRunBelongs(t *testing.T) {
	t.Parallel()
	callers := make(chan tool.Caller, 1)
	h := setup(t, setting{script: useTool, tools: box{"look": func(_ context.Context, c tool.Caller, _ json.RawMessage) (tool.Output, error) {
		callers <- c
		return tool.Output{Text: "x"}, nil
	}}})
	a := ask(t, "r1", "main", "use it")
	depth, hop := 2, 3
	a.Context = coordination.Context{WorkSessionID: "ws_1", TaskID: "t1", ConversationID: "c1", Depth: &depth, Hop: &hop}
	h.queue(a)
	h.over("r1")
	c := <-callers
	want := tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: "agent:eden:main", SessionID: c.SessionID, RunID: "r1", AskedID: c.AskedID, CallID: c.CallID,
		WorkSessionID: "ws_1", TaskID: "t1", ConversationID: "c1", Depth: 2, Hop: 3}
	if diff := cmp.Diff(want, c); diff != "" || c.SessionID == "" || c.AskedID == "" || c.CallID == "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
