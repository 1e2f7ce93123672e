package remoteworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestRunWaitsForAWorkerWhichDoesIt(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.serve()
	var streamed atomic.Int64
	c := x.dial(func(o *client.Options) {
		o.Event = func(e client.Event) {
			if e.Name == "agent" && strings.Contains(string(e.Payload), "it says") {
				streamed.Add(1)
			}
		}
	})
	ask(t, c, "main", "s", "r1", "do 1")
	ask(t, c, "gpu", "s", "r2", "hello")
	if w := call[waited](t, c, "agent.wait", map[string]any{"runId": "r1", "timeoutMs": 0}); w.State != "running" {
		t.Fatalf("without a worker: %+v", w)
	}
	x.hire("plain", x.at, "", 2)
	if w := over(t, c, "r1"); w.State != "ok" {
		t.Errorf("got %+v", w)
	}
	if n := x.effects()["1"]; n != 1 {
		t.Errorf("the command had its effect %d times on the worker's machine", n)
	}
	if _, err := os.Stat(filepath.Join(x.server, "w", "effects.txt")); err == nil {
		t.Error("the command was run on the server's machine")
	}
	if streamed.Load() == 0 {
		t.Error("nothing was streamed")
	}
	if w := call[waited](t, c, "agent.wait", map[string]any{"runId": "r2", "timeoutMs": 0}); w.State != "running" {
		t.Errorf("a worker without its label does a run: %+v", w)
	}
	x.hire("with-gpu", x.at, "GPU fast", 1)
	if w := over(t, c, "r2"); w.State != "ok" {
		t.Errorf("got %+v", w)
	}
	if x.model.wrongKey.Load() > 0 || !x.model.lived.Load() {
		t.Error("the key or the files are not those of the worker's machine")
	}
	until(t, c, "both workers wait, without runs", func(w *shownWorkers) bool {
		return len(w.Workers) == 2 && len(w.Workers[0].Runs)+len(w.Workers[1].Runs) == 0
	})
}

func TestAbortReachesTheWorker(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.serve()
	text := make(chan struct{}, 1)
	c := x.dial(func(o *client.Options) {
		o.Event = func(e client.Event) {
			if e.Name == "agent" && strings.Contains(string(e.Payload), "word") {
				select {
				case text <- struct{}{}:
				default:
				}
			}
		}
	})
	x.hire("w", x.at, "", 1)
	ask(t, c, "main", "s", "r1", "slow")
	<-text
	call[any](t, c, "chat.abort", map[string]any{"sessionKey": "agent:main:s", "runId": "r1"})
	if w := over(t, c, "r1"); w.State != "aborted" {
		t.Errorf("got %+v", w)
	}
	until(t, c, "the worker's request to the model ends", func(*shownWorkers) bool { return x.model.gone.Load() == 1 })
	ask(t, c, "main", "s", "r2", "do 2")
	if w := over(t, c, "r2"); w.State != "ok" {
		t.Errorf("afterwards: %+v", w)
	}
}

func asWorker(o *client.Options) {
	o.Token, o.Role, o.ID, o.Mode, o.Scopes = workerToken, "worker", "openclaw-worker", "worker", []string{"operator.admin"}
}

func TestWorkersMayDoNothingElse(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.serve()
	for name, change := range map[string]func(*client.Options){
		"a wrong token":                func(o *client.Options) { asWorker(o); o.Token = "wrong" },
		"no token":                     func(o *client.Options) { asWorker(o); o.Token = "" },
		"the gateway's secret":         func(o *client.Options) { asWorker(o); o.Token = secret },
		"the token for an operator":    func(o *client.Options) { o.Token = workerToken },
		"the token as a password":      func(o *client.Options) { o.Token, o.Password = "", workerToken },
		"the token as that of devices": func(o *client.Options) { o.Token, o.DeviceToken = "", workerToken },
	} {
		var refused *client.RefusedError
		if c, err := x.tryDial(change); err == nil {
			_ = c.Close()
			t.Errorf("%s opens the gateway", name)
		} else if !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w, c := x.dial(asWorker), x.dial()
	hello := w.Hello()
	if len(hello.Auth.Scopes) > 0 || len(hello.Features.Methods) > 0 || hello.Auth.DeviceToken != "" || strings.Contains(string(hello.Raw), x.server) {
		t.Errorf("the worker learns %s", hello.Raw)
	}
	for _, method := range c.Hello().Features.Methods {
		if strings.HasPrefix(method, "worker.") && method != "worker.list" {
			if _, err := c.Call(context.Background(), method, map[string]any{}); err == nil || !strings.Contains(err.Error(), "unauthorized role") {
				t.Errorf("an operator calls %s: %v", method, err)
			}
			continue
		}
		if _, err := w.Call(context.Background(), method, map[string]any{}); err == nil || !strings.Contains(err.Error(), "unauthorized role: worker") {
			t.Errorf("a worker calls %s: %v", method, err)
		}
	}
	refused := func(method string, params any, code string) {
		t.Helper()
		_, err := w.Call(context.Background(), method, params)
		var no *protocol.Error
		if text, _ := json.Marshal(&no); !errors.As(err, &no) {
			t.Errorf("%s: %v, %s", method, err, text)
			return
		}
		if text, _ := json.Marshal(no.Details); !strings.Contains(string(text), `"`+code+`"`) {
			t.Errorf("%s: %v %s, want %s", method, no, text, code)
		}
	}
	refused("worker.lease", map[string]any{"workerId": "mine"}, "worker_unknown")
	refused("worker.next", map[string]any{"leaseId": "mine", "attempt": 1}, "lease_over")
	refused("worker.report", map[string]any{"leaseId": "mine", "attempt": 1, "step": 1}, "lease_over")
	refused("worker.report", map[string]any{"leaseId": "mine", "attempt": 1, "step": 1, "result": map[string]any{"broken": strings.Repeat("x", 9<<20)}}, "report_too_large")
	refused("worker.register", map[string]any{"protocol": 99, "name": "w", "slots": 1}, "worker_protocol")
	refused("worker.register", map[string]any{"protocol": 1, "name": "w", "slots": 99}, "invalid_worker")
}

// Two workers ask for the same runs at the same time; each run is done once.
func TestWorkersRaceForRuns(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.serve()
	c := x.dial()
	runs := testscale.Of(12, 60)
	for i := range runs {
		ask(t, c, "main", fmt.Sprint("s", i), fmt.Sprint("r", i), fmt.Sprint("do ", i))
	}
	x.hire("a", x.at, "", 3)
	x.hire("b", x.at, "", 3)
	for i := range runs {
		if w := over(t, c, fmt.Sprint("r", i)); w.State != "ok" {
			t.Errorf("run %d: %+v", i, w)
		}
	}
	for i, n := range x.effects() {
		if n != 1 {
			t.Errorf("%s had its effect %d times", i, n)
		}
	}
	if n := len(x.effects()); n != runs {
		t.Errorf("%d effects of %d runs", n, runs)
	}
}

// A worker that is stopped for longer than its lease has lost its run when it goes on.
func TestLateWorkerIsRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.serve()
	text := make(chan struct{}, 1)
	c := x.dial(func(o *client.Options) {
		o.Event = func(e client.Event) {
			if e.Name == "agent" && strings.Contains(string(e.Payload), "word") {
				select {
				case text <- struct{}{}:
				default:
				}
			}
		}
	})
	late := x.hire("late", x.at, "", 1)
	ask(t, c, "main", "s", "r1", "slow")
	<-text
	if err := late.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, c, "the stopped worker is forgotten", func(w *shownWorkers) bool { return len(w.Workers) == 0 })
	x.hire("other", x.at, "", 1)
	until(t, c, "the other worker has the run", func(w *shownWorkers) bool {
		return len(w.Workers) == 1 && w.Workers[0].Name == "other" && len(w.Workers[0].Runs) == 1
	})
	if err := late.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, c, "the late worker is back, without the run", func(w *shownWorkers) bool {
		return len(w.Workers) == 2 && w.Workers[0].Name == "late" && len(w.Workers[0].Runs) == 0 && len(w.Workers[1].Runs) == 1
	})
	if text := late.stderr.String(); !strings.Contains(text, "this run is not with the worker any more") {
		t.Error("the late worker was not refused")
	}
	call[any](t, c, "chat.abort", map[string]any{"sessionKey": "agent:main:s", "runId": "r1"})
	if w := over(t, c, "r1"); w.State != "aborted" {
		t.Errorf("got %+v", w)
	}
}

// envSeed repeats TestKills.
const envSeed = "OPENCLAWD_CRASH_SEED_BASE"

// Workers, the server and the network between them are killed at random times. Every run ends once, and no command that was started is started
// again.
func TestKills(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv(envSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat with %s=%d", envSeed, seed)
	r := rand.New(rand.NewPCG(seed, 26))
	x := newTeam(t)
	x.serve()
	between := newProxy(t, x.at)
	worker := x.hire("w", between.listener.Addr().String(), "", 3)
	asked := 0
	done := map[string]int{}
	for range testscale.Of(8, 60) {
		c := x.dial()
		for range 3 {
			ask(t, c, "main", fmt.Sprint("s", r.IntN(5)), fmt.Sprint("r", asked), fmt.Sprint([]string{"do ", "long "}[r.IntN(2)], asked))
			asked++
		}
		_ = c.Close()
		soon := time.NewTimer(time.Duration(r.Int64N(int64(900 * time.Millisecond))))
		<-soon.C
		what := []string{"worker", "server", "network", "pause"}[r.IntN(4)]
		done[what]++
		switch what {
		case "worker":
			worker.kill()
			worker = x.hire("w", between.listener.Addr().String(), "", 3)
		case "server":
			x.running.kill()
			x.serve()
		case "network":
			between.cut(true)
			soon.Reset(time.Duration(r.Int64N(int64(3 * time.Second))))
			<-soon.C
			between.cut(false)
		case "pause":
			_ = worker.cmd.Process.Signal(syscall.SIGSTOP)
			soon.Reset(time.Duration(r.Int64N(int64(4 * time.Second))))
			<-soon.C
			_ = worker.cmd.Process.Signal(syscall.SIGCONT)
		}
	}
	c := x.dial()
	states := map[string]int{}
	for i := range asked {
		w := over(t, c, fmt.Sprint("r", i))
		states[w.State]++
	}
	for i, n := range x.effects() {
		if n > 1 {
			t.Errorf("%s had its effect %d times", i, n)
		}
	}
	t.Logf("%v; %d runs: %v; %d effects", done, asked, states, len(x.effects()))
	if states["ok"] == 0 {
		t.Error("no run was done")
	}
}
