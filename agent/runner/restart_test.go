package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// After a restart what waited goes on; what had started is aborted, and asked for once more where that was wanted.
func TestRestartInEachState(t *testing.T) {
	t.Parallel()
	for name, onRestart := range map[string]string{"reported": "", "retried": "retry"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := setup(t, setting{script: hangs})
			before.say("done", "main", "hello")
			before.over("done")
			a := ask(t, "started", "main", "hang")
			a.OnRestart = onRestart
			before.queue(a)
			before.until("started", says("one two "))
			before.say("waits", "main", "next")
			if err := before.db.Close(); err != nil { // nothing more is written, as if the process were gone
				t.Fatal(err)
			}
			before.stop()

			h := openAt(t, before.path, setting{})
			h.ends("done", run.OK, "echo: hello")
			if r := h.ends("started", run.Aborted, ""); r.Over.Reason != "restart" {
				t.Errorf("got %+v", r.Over)
			}
			h.ends("waits", run.OK, "echo: next")
			if diff := cmp.Diff([]string{"ended aborted"}, h.told("started")); diff != "" {
				t.Error(diff)
			}
			retries := 0
			for _, r := range h.list() {
				if r.RetryOf == "started" {
					retries++
					h.ends(r.RunID, run.OK, "echo: hang")
				}
			}
			if want := len(onRestart) / len("retry"); retries != want {
				t.Errorf("%d retries", retries)
			}
			h.stop()
			h.checkSettled()
		})
	}
}

// Who ends the program ends what runs, once it has had its time.
func TestShutdownAbortsWhatRuns(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: hangs})
	a := ask(t, "r1", "main", "hang")
	a.OnRestart = "retry"
	h.queue(a)
	h.say("r2", "main", "next")
	h.until("r1", says("one two "))
	h.stop()
	if r := h.ends("r1", run.Aborted, "one two "); r.Over.Reason != "shutdown" {
		t.Errorf("got %+v", r.Over)
	}
	open := 0
	for _, r := range h.list() {
		if r.State == run.Queued && (r.RunID == "r2" || r.RetryOf == "r1") {
			open++
		}
	}
	if open != 2 {
		t.Errorf("%d wait: %+v", open, h.list())
	}
}

// What Do leaves, because its lease is over, the worker ends; who waits is told.
func TestLostLeaseIsTold(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: useTool, tools: box{"look": func(ctx context.Context, _ tool.Caller, _ json.RawMessage) (tool.Output, error) {
		<-ctx.Done()
		return tool.Output{}, ctx.Err()
	}}})
	h.say("r1", "main", "use it")
	h.until("r1", is(run.ToolStart))
	h.lose("r1")
	if r := h.ends("r1", run.TimedOut, "I look."); r.Over.Error == "" {
		t.Errorf("got %+v", r.Over)
	}
	if got := h.told("r1"); !strings.HasPrefix(got[len(got)-1], "ended timed_out") {
		t.Errorf("told %q", got)
	}
}

// What no one wants any more is not started, and not asked for once more.
func TestWhatIsNotWantedEnds(t *testing.T) {
	t.Parallel()
	before := setup(t, setting{script: hangs})
	a := ask(t, "started", "main", "hang")
	a.OnRestart = "retry"
	before.queue(a)
	before.until("started", says("one two "))
	before.say("waits", "main", "next")
	before.say("wanted", "main", "and then")
	if err := before.db.Close(); err != nil { // nothing more is written, as if the process were gone
		t.Fatal(err)
	}
	before.stop()

	h := openAt(t, before.path, setting{wanted: func(_ eventstore.Tx, asked *coordination.RunQueued) (bool, error) {
		return asked.RunID == "wanted", nil
	}})
	h.ends("wanted", run.OK, "echo: and then")
	if r := h.ends("started", run.Aborted, ""); r.Over.Reason != "restart" {
		t.Errorf("got %+v", r.Over)
	}
	if r := h.ends("waits", run.Aborted, ""); r.Over.Reason != "stop" || r.StartedAt != 0 {
		t.Errorf("got %+v", r)
	}
	if runs := h.list(); len(runs) != 3 {
		t.Errorf("%d runs: %+v", len(runs), runs)
	}
	h.stop()
	h.checkSettled()
}
