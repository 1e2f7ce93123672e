package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

const hangs = `{"when": {"contains": ["hang"]}, "answer": {"text": "one two three", "fault": {"hang": true, "after": 2}}}, ` + echo

func TestStopInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: hangs})
	h.say("r1", "main", "hang")
	h.say("r2", "main", "next")
	h.until("r1", says("one two "))
	if diff := cmp.Diff([]string{"r1"}, h.halt(run.Stop{SessionKey: "agent:eden:main", RunID: "r1", Reason: "rpc", By: "cli"})); diff != "" {
		t.Error(diff)
	}
	// It is on disk when Stop returns, the text in the same transaction.
	if diff := cmp.Diff([]string{"queued", "started", "aborted"}, h.events("r1")); diff != "" {
		t.Error(diff)
	}
	r := h.ends("r1", run.Aborted, "one two ")
	if r.Over.Reason != "rpc" || r.Over.By != "cli" {
		t.Errorf("got %+v", r.Over)
	}
	events, err := h.db.Read(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e.Type == coordination.TypeRunAborted && (events[i-1].Type != coordination.TypeSessionMessage || events[i-1].RecordedAt != e.RecordedAt) {
			t.Errorf("before its end comes %+v", events[i-1])
		}
	}
	h.ends("r2", run.OK, "echo: next")
	if diff := cmp.Diff([]string{"user: hang", "assistant: one two  (aborted)", "user: next", "assistant: echo: next (stop)"}, h.transcript("main")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"started", "text one ", "text one two ", "ended aborted"}, h.told("r1")); diff != "" {
		t.Error(diff)
	}
	if ids := h.halt(run.Stop{RunID: "r1", Reason: "rpc"}); len(ids) > 0 {
		t.Errorf("stopped %q again", ids)
	}
}

func TestStopInTheMiddleOfATool(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	for name, obeys := range map[string]bool{"that obeys it": true, "that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, setting{script: useTool + "," + echo, tools: box{"look": func(ctx context.Context, _ tool.Caller, _ json.RawMessage) (tool.Output, error) {
				if obeys {
					<-ctx.Done()
					return tool.Output{}, ctx.Err()
				}
				<-release
				return tool.Output{Text: "late"}, nil
			}}})
			h.say("r1", "main", "use it")
			h.say("r2", "main", "next")
			h.until("r1", is(run.ToolStart))
			if ids := h.halt(run.Stop{SessionKey: "agent:eden:main", RunID: "r1", Reason: "stop"}); len(ids) != 1 {
				t.Errorf("stopped %q", ids)
			}
			h.ends("r1", run.Aborted, "I look.")
			h.ends("r2", run.OK, "echo: next")
			if diff := cmp.Diff([]string{"user: use it", "assistant: I look. (toolUse)", "user: next", "assistant: echo: next (stop)"}, h.transcript("main")); diff != "" {
				t.Error(diff)
			}
			if left := h.Stats().LeftBehind; left != 0 && obeys || left != 1 && !obeys {
				t.Errorf("%d left behind", left)
			}
			h.checkSettled()
		})
	}
	t.Cleanup(func() { close(release) })
}

func TestStopOfWhatWaits(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: hangs})
	h.say("r1", "main", "hang")
	second := ask(t, "r2", "main", "second")
	second.WorkSessionID, second.ConversationID = "ws-1", "c-1"
	h.queue(second)
	h.say("r3", "main", "third")
	h.say("o1", "other", "hang")
	h.until("r1", says("one two "))
	if diff := cmp.Diff([]string{"r2"}, h.halt(run.Stop{RunID: "r2", Reason: "rpc"})); diff != "" {
		t.Error(diff)
	}
	if r := h.ends("r2", run.Aborted, ""); r.Over.WorkSessionID != "ws-1" || r.Over.ConversationID != "c-1" {
		t.Errorf("it belongs to %+v", r.Over.Context)
	}
	if diff := cmp.Diff([]string{"ended aborted"}, h.told("r2")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"r1", "r3"}, h.halt(run.Stop{SessionKey: "agent:eden:main", Reason: "reset"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"queued", "aborted"}, h.events("r3")); diff != "" {
		t.Error(diff)
	}
	if r, _, err := h.Get(t.Context(), "o1"); err != nil || r.State.Over() {
		t.Errorf("the run of another session is %+v, %v", r, err)
	}
	h.halt(run.Stop{RunID: "o1", Reason: "rpc"})
	h.checkSettled()

	for _, stop := range []run.Stop{{}, {SessionKey: "agent:"}, {SessionKey: "agent:eden:other", RunID: "r1"}} {
		_, err := h.Stop(t.Context(), stop)
		var refusal *run.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%+v: got %v", stop, err)
		}
	}
	if ids := h.halt(run.Stop{RunID: "unheard of"}); len(ids) > 0 {
		t.Errorf("stopped %q", ids)
	}
}

// More than one transaction ends what waits in a long queue; nothing of it begins meanwhile.
func TestStopOfALongQueue(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: hangs, asleep: true})
	const n = 700
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { h.say(fmt.Sprint("r", i), "main", "hang") })
	}
	all.Wait()
	h.wake()
	if ids := h.halt(run.Stop{SessionKey: "agent:eden:main", Reason: "rpc"}); len(ids) != n {
		t.Errorf("stopped %d", len(ids))
	}
	if lines := h.transcript("main"); len(lines) > 2 {
		t.Errorf("said was %q", lines)
	}
}

// A stop finds a run wherever that is on its way from the queue to its end.
func TestStopRacesWithTheBeginning(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: hangs})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			id, name := fmt.Sprint("r", i), fmt.Sprint("s", i)
			h.say(id, name, "hang")
			if ids := h.halt(run.Stop{RunID: id, Reason: "rpc"}); len(ids) != 1 {
				t.Errorf("%s: stopped %q", id, ids)
			}
			if r := h.over(id); r.State != run.Aborted || r.Over.Reason != "rpc" {
				t.Errorf("got %+v", r)
			}
		})
	}
	all.Wait()
	h.checkSettled()
}
