package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// follows is what follows from every end in these tests: the end as Then is told of it, in a stream of the run's own.
func follows(e *runner.EndedRun) []eventstore.StreamAppend {
	data, err := json.Marshal(told{
		RunID: e.Asked.RunID, Root: run.RootOf(e.Result.RunID, e.Result.RetryOf), Job: e.Asked.JobID, Session: e.Asked.SessionKey, Cause: e.Asked.Cause,
		Work: e.Asked.WorkSessionID, Message: e.Asked.Message, State: e.Result.State, Text: e.Result.Over.Text, At: e.Result.EndedAt, Now: e.Now.UnixMilli(),
		AskedID: e.AskedID,
	})
	if err != nil {
		panic(err) // texts and numbers can be written
	}
	return []eventstore.StreamAppend{{Stream: "follows/" + e.Result.RunID, Events: []eventstore.NewEvent{{Type: typeFollows, Data: data}}}}
}

const typeFollows = "test.follows"

// told is what Then is told of an end.
type told struct {
	RunID, Root, Job, Session, Cause, Work, Message string

	State   run.State
	Text    string
	At, Now int64
	AskedID string
}

func always(_ *fixture, _ eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
	return follows(e), nil
}

// followed is what has followed from the ends of runs, in order. It checks that this comes right behind the end, in the same transaction, and
// that it comes once for each run that is over and was not asked for once more.
func (h *fixture) followed() (all []told) {
	h.t.Helper()
	events, err := h.db.Read(h.t.Context(), 0, 100_000)
	if err != nil {
		h.t.Fatal(err)
	}
	times, asked := map[string]int{}, map[string]string{}
	for i, e := range events {
		if e.Type == coordination.TypeRunQueued {
			asked[e.Stream] = e.ID.String()
		}
		if e.Type != typeFollows {
			continue
		}
		var one told
		if err := json.Unmarshal(e.Data, &one); err != nil {
			h.t.Fatal(err)
		}
		end := events[i-1]
		if to, _ := run.Next(run.Running, end.Type); !to.Over() || end.Stream != coordination.RunStream(one.RunID) || end.RecordedAt != e.RecordedAt {
			h.t.Errorf("before what follows from the end of %s comes %+v", one.RunID, end)
		}
		if one.At != one.Now {
			h.t.Errorf("%s ends at %d, told at %d", one.RunID, one.At, one.Now)
		}
		if one.AskedID != asked[end.Stream] && one.RunID != "bad" { // of which nothing can be read
			h.t.Errorf("%s was asked for by %q, told %q", one.RunID, asked[end.Stream], one.AskedID)
		}
		one.AskedID = "" // it differs
		times[one.RunID]++
		all = append(all, one)
	}
	repeated := map[string]bool{}
	for _, e := range events {
		var q coordination.RunQueued
		if e.Type == coordination.TypeRunQueued && json.Unmarshal(e.Data, &q) == nil {
			for _, id := range q.Earlier {
				repeated[id] = true
			}
		}
	}
	for _, r := range h.list() {
		want := 0
		if r.State.Over() && !repeated[r.RunID] {
			want = 1
		}
		if times[r.RunID] != want {
			h.t.Errorf("%s is %s, and Then has followed %d times", r.RunID, r.State, times[r.RunID])
		}
	}
	return all
}

// ofJob asks for a job, in a work session.
func ofJob(a run.Ask) run.Ask {
	a.JobID, a.WorkSessionID = "job of "+a.RunID, "ws_1"
	return a
}

// Whatever ends a run, what follows from that is appended with it, once; it is told what was asked for and what came of it.
func TestConsequencesOfAnEnd(t *testing.T) {
	t.Parallel()
	short := int64(50)
	var h *fixture
	restart := func(t *testing.T, set setting) {
		if err := h.db.Close(); err != nil { // as if the process were gone
			t.Fatal(err)
		}
		h.stop()
		set.then = always
		h = openAt(t, h.path, set)
	}
	redact := func(t *testing.T) {
		events, err := h.db.ReadStream(t.Context(), coordination.RunStream("r1"), 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.db.Redact(t.Context(), events[0].Seq); err != nil {
			t.Fatal(err)
		}
	}
	whole := told{RunID: "r1", Root: "r1", Job: "job of r1", Session: "agent:eden:main", Cause: "chat", Work: "ws_1", Message: "hang"}
	ids := whole
	ids.Message = ""
	for _, c := range []struct {
		name string
		set  setting
		ask  func(*run.Ask)
		then func(t *testing.T) // what ends it
		want told               // and the state and text that it ends with
	}{
		{"ok", setting{}, nil, nil, told{State: run.OK, Text: "echo: hang"}},
		{"a secret in the answer", setting{script: `{"answer": {"text": "password=hunter2hunter2"}}`}, nil, nil, told{State: run.OK, Text: "password=***"}},
		{"error", setting{script: `{"answer": {"fault": {"class": "rejected"}}}`}, nil, nil, told{State: run.Failed}},
		{"timed out", setting{script: `{"answer": {"fault": {"hang": true}}}`}, func(a *run.Ask) { a.TimeoutMs = &short }, nil, told{State: run.TimedOut}},
		{"panic", setting{script: useTool, tools: box{"look": panics}}, func(a *run.Ask) { a.Message = "use it" }, nil,
			told{State: run.Failed, Text: "I look.", Message: "use it"}},
		{"stopped while it runs", setting{script: hangs}, nil, func(*testing.T) {
			h.until("r1", says("one two "))
			h.halt(run.Stop{RunID: "r1", Reason: "rpc"})
		}, told{State: run.Aborted, Text: "one two "}},
		{"stopped while it waits", setting{asleep: true}, nil, func(*testing.T) { h.halt(run.Stop{RunID: "r1", Reason: "rpc"}) },
			told{State: run.Aborted, Message: "-"}},
		{"stopped while it waits, and long", setting{asleep: true}, func(a *run.Ask) { a.Message = strings.Repeat(`"`, 200_000) },
			func(*testing.T) { h.halt(run.Stop{RunID: "r1", Reason: "rpc"}) }, told{State: run.Aborted, Message: "-"}},
		{"stopped while it waits, and redacted", setting{asleep: true}, nil, func(t *testing.T) {
			redact(t)
			h.halt(run.Stop{RunID: "r1", Reason: "rpc"})
		}, told{State: run.Aborted, Message: "-"}},
		{"redacted", setting{asleep: true}, nil, func(t *testing.T) {
			redact(t)
			h.wake()
		}, told{State: run.Failed, Message: "-"}},
		{"its transcript is closed", setting{asleep: true}, func(a *run.Ask) {
			h.patch("main", `{"thinkingLevel":"low"}`) // there is a session
			a.SessionID = h.session("main").ID
		}, func(*testing.T) {
			h.reset("main")
			h.wake()
		}, told{State: run.Aborted}},
		{"its lease is lost", setting{asleep: true}, nil, func(*testing.T) {
			h.begin("r1")
			h.lose("r1")
		}, told{State: run.TimedOut}},
		{"shutdown", setting{script: hangs}, nil, func(*testing.T) {
			h.until("r1", says("one two "))
			h.stop()
		}, told{State: run.Aborted, Text: "one two "}},
		{"restart", setting{script: hangs}, nil, func(t *testing.T) {
			h.until("r1", says("one two "))
			restart(t, setting{})
		}, told{State: run.Aborted}},
		{"restart, and asked for once more", setting{script: hangs}, func(a *run.Ask) { a.OnRestart = run.OnRestartRetry }, func(t *testing.T) {
			h.until("r1", says("one two "))
			restart(t, setting{asleep: true})
			h.wake() // the model does not hang any more
			for _, r := range h.list() {
				h.over(r.RunID)
			}
			for _, r := range h.list() {
				h.over(r.RunID)
			}
		}, told{RunID: "-", State: run.OK, Text: "echo: hang"}},
	} {
		t.Run(c.name, func(t *testing.T) { // one after the other: they share h
			c.set.then = always
			h = setup(t, c.set)
			a := ofJob(ask(t, "r1", "main", "hang"))
			if c.ask != nil {
				c.ask(&a)
			}
			h.queue(a)
			if c.then != nil {
				c.then(t)
			}
			h.over("r1")
			h.stop()
			all := h.followed()
			if len(all) != 1 {
				t.Fatalf("followed: %+v", all)
			}
			want := whole
			switch c.want.Message {
			case "":
			case "-":
				want = ids
			default:
				want.Message = c.want.Message
			}
			if want.State, want.Text = c.want.State, c.want.Text; c.want.RunID == "-" {
				want.RunID = all[0].RunID
				if want.RunID == "r1" {
					t.Error("it follows from the end of what was broken off")
				}
			}
			want.At, want.Now = all[0].At, all[0].Now
			if diff := cmp.Diff(want, all[0]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			h.checkSettled()
		})
	}
}

func panics(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) { panic("on purpose") }

// A run that would not begin, here because what asked for it makes no sense, has an end from which something follows.
func TestConsequencesOfARunThatCannotBegin(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{asleep: true, then: always})
	data := `{"runId":"bad","sessionKey":"agent:eden:main","lane":"main","cause":"chat","jobId":"j1","message":5}`
	if _, err := h.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.RunStream("bad"),
		Events: []eventstore.NewEvent{{Type: coordination.TypeRunQueued, AgentID: "eden", Data: json.RawMessage(data)}}}); err != nil {
		t.Fatal(err)
	}
	h.refuse("bad", errors.New("as asked"))
	all := h.followed()
	if len(all) != 1 || all[0].RunID != "bad" || all[0].Job != "j1" || all[0].Session != "agent:eden:main" || all[0].State != run.Failed {
		t.Errorf("got %+v", all)
	}
}

// What is in the transcript and what ends the run come first. Who has been told of the end finds on disk what follows from it.
func TestConsequencesAreAppendedLast(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{then: always})
	seen := make(chan bool, 1)
	defer h.Follow(func(u run.Update) {
		if u.Kind == run.Ended {
			events, err := h.db.ReadStream(context.Background(), "follows/r1", 0, 10)
			seen <- err == nil && len(events) == 1
		}
	})()
	h.say("r1", "main", "hi")
	if !<-seen {
		t.Error("the end is told before what follows is on disk")
	}
	events, err := h.db.Read(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	want := []string{coordination.TypeSessionMessage, coordination.TypeRunEnded, typeFollows}
	if n := len(types); n < 3 || !slices.Equal(want, types[n-3:]) {
		t.Errorf("got %q", types)
	}
}

// Who ends a run that is over already ends nothing, and nothing follows from it.
func TestSecondEndHasNoConsequences(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	h := setup(t, setting{then: always, script: useTool, tools: box{"look": func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
		<-hold
		return tool.Output{Text: "x"}, nil
	}}})
	h.say("r1", "main", "use it")
	h.until("r1", is(run.ToolStart))
	h.lose("r1")
	close(hold)
	h.ends("r1", run.TimedOut, "I look.")
	h.stop()
	h.halt(run.Stop{RunID: "r1", Reason: "rpc"})
	if all := h.followed(); len(all) != 1 || all[0].State != run.TimedOut {
		t.Errorf("got %+v", all)
	}
}

// Where many are stopped at once, what follows from each end sees what has followed from those before.
func TestConsequencesOfManyEndsAtOnce(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: hangs, then: func(_ *fixture, tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
		if e.Asked.JobID == "" {
			return nil, nil
		}
		appends, before := follows(e), 0
		err := tx.Query("SELECT count(*) FROM events WHERE type = ?", []any{typeFollows}, func(r eventstore.Row) error {
			before = int(r.Int(0))
			return nil
		})
		appends[0].Stream = fmt.Sprint("follows/nr-", before)
		appends[0].Expect = eventstore.NoStream()
		return appends, err
	}})
	h.say("r0", "main", "hang")
	h.until("r0", says("one two "))
	var want []string
	for i := 1; i <= 9; i++ {
		a := ask(t, fmt.Sprint("r", i), "main", "hi")
		if i%3 > 0 {
			a = ofJob(a)
			want = append(want, a.RunID)
		}
		h.queue(a)
	}
	before := h.log.decided.Load()
	if ids := h.halt(run.Stop{SessionKey: "agent:eden:main", Reason: "reset"}); len(ids) != 10 {
		t.Errorf("stopped %q", ids)
	}
	var got []string
	for i := range want {
		events, err := h.db.ReadStream(t.Context(), fmt.Sprint("follows/nr-", i), 0, 10)
		if err != nil || len(events) != 1 {
			t.Fatalf("%d: %+v, %v", i, events, err)
		}
		var one told
		if err := json.Unmarshal(events[0].Data, &one); err != nil {
			t.Fatal(err)
		}
		got = append(got, one.RunID)
	}
	slices.Reverse(want) // the last first
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := h.log.decided.Load() - before; n > int64(len(want))+2 {
		t.Errorf("%d transactions", n)
	}
	h.checkSettled()
}

// What it costs to stop the runs of a session grows with how many wait, also where something follows from each: no transaction reads them all
// again.
func TestStopOfManyIsLinear(t *testing.T) {
	t.Parallel()
	const runs = 100
	h := setup(t, setting{asleep: true, then: func(_ *fixture, _ eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
		return follows(e), nil
	}})
	for i := range runs {
		h.queue(ofJob(ask(t, fmt.Sprint("r", i), "main", "hi")))
	}
	before := h.log.rows.Load()
	if ids := h.halt(run.Stop{SessionKey: "agent:eden:main", Reason: "reset"}); len(ids) != runs || ids[0] != "r0" || ids[runs-1] != "r99" {
		t.Errorf("stopped %q", ids)
	}
	if n := h.log.rows.Load() - before; n > 6*runs {
		t.Errorf("read %d rows for %d runs", n, runs)
	}
	h.checkSettled()
}

// broken is a Then that does not say what follows.
type broken = func(*fixture, eventstore.Tx, *runner.EndedRun) ([]eventstore.StreamAppend, error)

// stored is an event of another body under an id that is taken, which is only seen when it is appended.
func stored(h *fixture, _ eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
	appends := follows(e)
	appends[0].Events[0].ID = h.taken
	return appends, nil
}

// Whatever is wrong with what follows from an end, the run ends, in each way of ending, and says that it does so alone.
func TestRunsEndWithoutConsequences(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]broken{
		"error": func(*fixture, eventstore.Tx, *runner.EndedRun) ([]eventstore.StreamAppend, error) {
			return nil, errors.New("on purpose")
		},
		"refusal": func(*fixture, eventstore.Tx, *runner.EndedRun) ([]eventstore.StreamAppend, error) {
			return nil, &run.Refusal{Reason: run.CodeOver, Text: "on purpose"}
		},
		"panic": func(*fixture, eventstore.Tx, *runner.EndedRun) ([]eventstore.StreamAppend, error) {
			panic("on purpose")
		},
		"statement": func(_ *fixture, tx eventstore.Tx, _ *runner.EndedRun) ([]eventstore.StreamAppend, error) {
			return nil, tx.Query("SELECT on purpose", nil, func(eventstore.Row) error { return nil })
		},
		"another version": func(_ *fixture, _ eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
			appends := follows(e)
			appends[0].Stream, appends[0].Expect = coordination.RunStream(e.Result.RunID), eventstore.NoStream()
			return appends, nil
		},
		"version of its own": func(_ *fixture, _ eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
			appends := append(follows(e), follows(e)...)
			appends[1].Expect = eventstore.NoStream()
			return appends, nil
		},
		"too large": func(_ *fixture, _ eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
			appends := follows(e)
			appends[0].Events[0].Data = json.RawMessage(`{"x":"` + strings.Repeat("x", eventstore.MaxDataBytes) + `"}`)
			return appends, nil
		},
		"id that is taken": stored,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logs := &lines{}
			h := setup(t, setting{script: hangs, asleep: true, then: then, logs: logs})
			taken, err := h.db.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: []eventstore.NewEvent{{Type: "test.taken", Data: json.RawMessage(`{}`)}}})
			if err != nil {
				t.Fatal(err)
			}
			h.taken = taken.Events[0].ID
			for i := range 3 {
				h.say(fmt.Sprint("waits", i), "main", "hi")
			}
			if ids := h.halt(run.Stop{SessionKey: "agent:eden:main", Reason: "reset"}); len(ids) != 3 {
				t.Errorf("stopped %q", ids)
			}
			h.say("lost", "lost", "hi")
			h.begin("lost")
			h.wake() // it loses what it has not started, and goes on
			h.say("ok", "ok", "hi")
			h.ends("ok", run.OK, "echo: hi")
			if r := h.over("lost"); r.State != run.Aborted && (name != "id that is taken" || r.State != run.Failed) {
				t.Errorf("got %+v", r)
			}
			h.stop()
			h.checkSettled()
			events, err := h.db.Read(t.Context(), 0, 1_000)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(events, func(e eventstore.Event) bool { return e.Type == typeFollows }) {
				t.Error("something has followed")
			}
			for _, id := range []string{"waits0", "waits1", "waits2", "lost", "ok"} {
				if !logs.contain("cannot store the follow-up events of a run", "run="+id) {
					t.Errorf("nothing is said of %s: %s", id, logs)
				}
			}
		})
	}
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// contain says whether there is a line with all the parts.
func (l *lines) contain(parts ...string) bool {
	for line := range strings.Lines(l.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

// While the file as a whole is in trouble when it is asked what follows, nothing ends; once it is not, the run ends with what follows.
func TestDiskFullDuringConsequences(t *testing.T) {
	t.Parallel()
	for name, panics := range map[string]bool{"as an error": false, "as a panic": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 100)
			h := setup(t, setting{durability: sqlite.DurabilityRelaxed, then: func(h *fixture, tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
				select {
				case asked <- struct{}{}:
				default:
				}
				if h.room.Load() {
					return follows(e), nil
				}
				err := tx.Query("PRAGMA max_page_count = 1", nil, func(eventstore.Row) error { return nil })
				if err == nil {
					_, err = tx.Exec("CREATE TABLE too_large AS SELECT zeroblob(1000000) AS data")
				}
				if err == nil {
					err = errors.New("there is room")
				}
				if panics {
					panic(err)
				}
				return nil, err
			}})
			h.say("r1", "main", "hi")
			for range 3 {
				<-asked
			}
			if r, _, err := h.Get(t.Context(), "r1"); err != nil || r.State != run.Running {
				t.Errorf("got %+v, %v", r, err)
			}
			h.room.Store(true)
			h.limit(1_000_000)
			h.ends("r1", run.OK, "echo: hi")
			if all := h.followed(); len(all) != 1 {
				t.Errorf("got %+v", all)
			}
			h.checkSettled()
		})
	}
}
