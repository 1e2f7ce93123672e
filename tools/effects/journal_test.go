package effects_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/toolcalls"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/effects"
)

// fixture is a log with a tool that has an outside effect.
type fixture struct {
	t     *testing.T
	path  string
	db    *sqlite.DB
	tools *tools.Registry
	*effects.Journal

	repeat tools.Repeat
	do     func(ctx context.Context, call *tools.Call) (tool.Output, error)
	made   atomic.Int64
}

var ids atomic.Int64

func (h *fixture) open() {
	h.t.Helper()
	db, err := sqlite.Open(h.t.Context(), sqlite.Options{Path: h.path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := projections.Start(h.t.Context(), db, []projections.Definition{runs.Definition()}, projections.Options{Rules: coordination.RulesV2}); err != nil {
		h.t.Fatal(errors.Join(err, db.Close()))
	}
	h.db = db
	logger := slog.New(slog.NewTextHandler(h.t.Output(), nil))
	h.Journal = effects.New(effects.Options{Log: db.Decided(), Now: time.Now, NewID: func() string { return fmt.Sprint("random-", ids.Add(1)) }, Logger: logger})
	h.tools, err = tools.New(tools.Options{Config: config.Default, Logger: logger, Journal: h.Journal, Tools: []tools.Tool{{
		Spec:   tool.Spec{Name: "post", Schema: json.RawMessage(`{"type":"object"}`)},
		Effect: tools.Effect{Outside: true, Repeat: h.repeat, Server: "web"},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			h.made.Add(1)
			return h.do(ctx, call)
		},
	}}})
	if err != nil {
		h.t.Fatal(err)
	}
}

func setup(t *testing.T, repeat tools.Repeat, do func(ctx context.Context, call *tools.Call) (tool.Output, error)) *fixture {
	t.Helper()
	h := &fixture{t: t, path: filepath.Join(t.TempDir(), "log.db"), repeat: repeat, do: do}
	h.open()
	t.Cleanup(func() {
		if err := h.db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			t.Error(err)
		}
	})
	return h
}

func (h *fixture) call(ctx context.Context, callID, args string) (tool.Output, error) {
	return h.tools.Call(ctx, tool.Caller{Entry: tool.ByWire, AgentID: "main", SessionKey: "agent:main:main", CallID: callID, By: "cli"}, "post", json.RawMessage(args))
}

// events lists what happened to the calls: the type with what matters of the data.
func (h *fixture) events() (list []string) {
	h.t.Helper()
	events, err := h.db.Read(h.t.Context(), 0, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range events {
		if !strings.HasPrefix(e.Type, "tool.") {
			continue
		}
		var d struct {
			Attempt      int
			Text, Reason string
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			h.t.Fatal(err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprint(strings.TrimPrefix(e.Type, "tool."), " ", d.Attempt, " ", d.Text, d.Reason)))
	}
	return list
}

func (h *fixture) want(events ...string) {
	h.t.Helper()
	if diff := cmp.Diff(events, h.events()); diff != "" {
		h.t.Errorf("events (-want +got):\n%s", diff)
	}
}

func text(s string) func(context.Context, *tools.Call) (tool.Output, error) {
	return func(context.Context, *tools.Call) (tool.Output, error) { return tool.Output{Text: s}, nil }
}

// The intent is on disk before the call is made, and the outcome when the caller learns it. A repetition with the same key and arguments
// has the recorded answer.
func TestCallIsRecorded(t *testing.T) {
	t.Parallel()
	var h *fixture
	h = setup(t, tools.RepeatNever, func(ctx context.Context, _ *tools.Call) (tool.Output, error) {
		if got := h.events(); len(got) != 1 || got[0] != "called 1" || effects.CallID(ctx) == "" {
			t.Errorf("before the call: %q, id %q", got, effects.CallID(ctx))
		}
		return tool.Output{Text: "posted with ghp_abcdefghijklmnopqrstuvwxyz0123456789"}, nil
	})
	out, err := h.call(t.Context(), "k", `{"a": 1, "token": "hunter2hunter2"}`)
	if err != nil || !strings.HasPrefix(out.Text, "posted with ghp_") {
		t.Errorf("%+v, %v", out, err)
	}
	h.want("called 1", "ended 1 posted with ***")
	out, err = h.call(t.Context(), "k", `{"token": "hunter2hunter2", "a": 1.0}`)
	if err != nil || out.Text != "posted with ***" || h.made.Load() != 1 {
		t.Errorf("repeated: %+v, %v; made %d times", out, err, h.made.Load())
	}
	events, err := h.db.Read(t.Context(), 0, 10)
	if err != nil || strings.Contains(string(events[0].Data), "hunter2") {
		t.Errorf("%s, %v", events[0].Data, err)
	}
	h.do = text("other")
	if out, err := h.call(t.Context(), "k", `{"a": 2}`); err != nil || out.Text != "other" {
		t.Errorf("other arguments: %+v, %v", out, err)
	}
	for range 2 { // without a key no call is a repetition
		if _, err := h.call(t.Context(), "", `{"a": 2}`); err != nil {
			t.Error(err)
		}
	}
	if h.made.Load() != 4 {
		t.Errorf("made %d times", h.made.Load())
	}
}

// The calls are listed with their outcomes, the newest first.
func TestList(t *testing.T) {
	t.Parallel()
	h := setup(t, tools.RepeatReadOnly, text("fine"))
	for n, do := range []func(context.Context, *tools.Call) (tool.Output, error){
		text("fine"),
		func(context.Context, *tools.Call) (tool.Output, error) {
			return tool.Output{Text: "no", IsError: true}, nil
		},
		func(context.Context, *tools.Call) (tool.Output, error) {
			return tool.Output{}, &tools.UnknownOutcomeError{Reason: "timeout", Err: errors.New("late")}
		},
	} {
		h.do = do
		if _, err := h.call(t.Context(), fmt.Sprint(n), `{}`); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		q    toolcalls.Query
		want []string
	}{
		{toolcalls.Query{Limit: 10}, []string{"unknown late", "error no", "ok fine"}},
		{toolcalls.Query{Limit: 2}, []string{"unknown late", "error no"}},
		{toolcalls.Query{Limit: 10, State: "ok", Server: "web"}, []string{"ok fine"}},
		{toolcalls.Query{Limit: 10, State: "open"}, nil},
		{toolcalls.Query{Limit: 10, Server: "other"}, nil},
	} {
		var got []string
		err := h.db.View(t.Context(), func(tx *sql.Tx) error {
			list, err := toolcalls.List(t.Context(), tx, c.q)
			for _, r := range list {
				if r.Tool != "post" || r.Server != "web" || r.Repeat != "readOnly" || r.CallID == "" || r.CalledAt == 0 {
					t.Errorf("%+v", r)
				}
				got = append(got, r.State+" "+r.Text)
			}
			return err
		})
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%+v: %v\n%s", c.q, err, diff)
		}
	}
}

// Every way in which a call can end is recorded once.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	unknown := func(context.Context, *tools.Call) (tool.Output, error) {
		return tool.Output{}, &tools.UnknownOutcomeError{Reason: "timeout", Err: errors.New("no answer")}
	}
	for name, c := range map[string]struct {
		do    func(context.Context, *tools.Call) (tool.Output, error)
		event string
		code  string // of the error, or in the details
	}{
		"declined": {func(context.Context, *tools.Call) (tool.Output, error) {
			return tool.Output{Text: "no", IsError: true}, nil
		}, "ended 1 no", ""},
		"refused": {func(context.Context, *tools.Call) (tool.Output, error) {
			return tool.Output{}, &tool.Error{Code: tool.CodeNoFile, Text: "gone"}
		}, "ended 1 gone", tool.CodeNoFile},
		"unknown": {unknown, "outcome_unknown 1 timeout", tool.CodeOutcomeUnknown},
		"failed":  {func(context.Context, *tools.Call) (tool.Output, error) { return tool.Output{}, errors.New("oh") }, "outcome_unknown 1 broken", tool.CodeOutcomeUnknown},
		"panics":  {func(context.Context, *tools.Call) (tool.Output, error) { panic("oh") }, "outcome_unknown 1 broken", tool.CodeBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, tools.RepeatNever, c.do)
			out, err := h.call(t.Context(), "k", `{}`)
			refused, _ := errors.AsType[*tool.Error](err)
			var details struct{ Code string }
			_ = json.Unmarshal(out.Details, &details)
			if refused != nil {
				details.Code = refused.Code
			}
			if details.Code != c.code {
				t.Errorf("%+v, %v", out, err)
			}
			h.want("called 1", c.event)
			if _, err := h.call(t.Context(), "k", `{}`); err != nil || h.made.Load() != 1 {
				t.Errorf("repeated: %v; made %d times", err, h.made.Load())
			}
		})
	}
}

// A call that was not made is made when it is repeated, also by a tool that must not repeat what may have had its effect.
func TestCallThatWasNotMadeIsMade(t *testing.T) {
	t.Parallel()
	unavailable := func(context.Context, *tools.Call) (tool.Output, error) {
		return tool.Output{}, &tool.Error{Code: tool.CodeUnavailable, Text: "down"}
	}
	h := setup(t, tools.RepeatNever, unavailable)
	if _, err := h.call(t.Context(), "k", `{}`); err == nil {
		t.Error("it was made")
	}
	h.do = text("posted")
	for range 2 {
		if out, err := h.call(t.Context(), "k", `{}`); err != nil || out.Text != "posted" {
			t.Errorf("%+v, %v", out, err)
		}
	}
	h.want("called 1", "ended 1 down", "called 2", "ended 2 posted")
	h.do = unavailable
	for range 10 {
		_, _ = h.call(t.Context(), "l", `{}`)
	}
	if h.made.Load() != 2+8 {
		t.Errorf("made %d times", h.made.Load())
	}
}

// A call whose caller goes away has an unknown outcome, and one that is under way is not made a second time.
// A command that has no end when the program starts has one then, once, and what has ended is left alone.
func TestCommandsThatAKillLeft(t *testing.T) {
	t.Parallel()
	h := setup(t, tools.RepeatNever, text("x"))
	write := func(id, text string, ended bool) {
		t.Helper()
		o := coordination.ToolOutput{ProcessID: id, SessionKey: "agent:main:main", Text: text, Ended: ended}
		appends, err := eventstore.One(coordination.ToolOutputStream(id), eventstore.NewEvent{Type: coordination.TypeToolOutput, AgentID: "main", Actor: eventstore.ActorAgent}, o, 1)
		if err == nil {
			_, err = h.db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("p1", "", false)
	write("p1", "one", false)
	write("p2", "two", false)
	write("p2", "", true)
	for range 2 {
		if n, err := h.Recover(t.Context()); n != 0 || err != nil {
			t.Errorf("%d calls, %v", n, err)
		}
		h.want("output 0", "output 0 one", "output 0 two", "output 0", "output 0 restart")
	}
}

func TestStoppedCall(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	h := setup(t, tools.RepeatNever, func(ctx context.Context, _ *tools.Call) (tool.Output, error) {
		close(began)
		<-ctx.Done()
		return tool.Output{}, ctx.Err()
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.call(ctx, "k", `{}`)
		done <- err
	}()
	<-began
	_, err := h.call(t.Context(), "k", `{}`)
	if refused, is := errors.AsType[*tool.Error](err); !is || refused.Code != tool.CodeUnderWay {
		t.Errorf("at the same time: %v", err)
	}
	stop()
	<-done
	out, err := h.call(t.Context(), "k", `{}`)
	for refused, is := errors.AsType[*tool.Error](err); is && refused.Code == tool.CodeUnderWay; refused, is = errors.AsType[*tool.Error](err) {
		out, err = h.call(t.Context(), "k", `{}`) // its outcome is just being written
	}
	if err != nil || !out.IsError || !strings.Contains(out.Text, tool.CodeOutcomeUnknown) || !strings.Contains(out.Text, "stopped") {
		t.Errorf("%+v, %v", out, err)
	}
	h.want("called 1", "outcome_unknown 1 stopped")
}

// What a kill leaves open is unknown after the next start. Only a tool that may be repeated is called again for the same call.
func TestKillLeavesUnknown(t *testing.T) {
	t.Parallel()
	for repeat, again := range map[tools.Repeat]bool{tools.RepeatNever: false, tools.RepeatReadOnly: true, tools.RepeatIdempotent: true, tools.RepeatKeyed: true} {
		t.Run("repeat "+string(repeat), func(t *testing.T) {
			t.Parallel()
			began, hold := make(chan struct{}), make(chan struct{})
			h := setup(t, repeat, func(context.Context, *tools.Call) (tool.Output, error) {
				close(began)
				<-hold
				return tool.Output{Text: "too late"}, nil
			})
			left := h.tools
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = left.Call(t.Context(), tool.Caller{Entry: tool.ByWire, AgentID: "main", SessionKey: "agent:main:main", CallID: "k"}, "post", json.RawMessage(`{}`))
			}()
			<-began
			if err := h.db.Close(); err != nil { // nothing more is written, as if the process were gone
				t.Fatal(err)
			}
			close(hold)
			<-done

			if _, err := os.Stat(h.path); err != nil {
				t.Fatal(err)
			}
			h.do = text("made again")
			h.open() // a tool that says now that it may be repeated did not say so when it was called
			if n, err := h.Recover(t.Context()); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			if n, err := h.Recover(t.Context()); n != 0 || err != nil {
				t.Errorf("again: %d, %v", n, err)
			}
			out, err := h.call(t.Context(), "k", `{}`)
			if again {
				if err != nil || out.Text != "made again" {
					t.Errorf("%+v, %v", out, err)
				}
				h.want("called 1", "outcome_unknown 1 restart", "called 2", "ended 2 made again")
				return
			}
			if err != nil || !strings.Contains(out.Text, "restarted") || !out.IsError || h.made.Load() != 1 {
				t.Errorf("%+v, %v; made %d times", out, err, h.made.Load())
			}
			h.want("called 1", "outcome_unknown 1 restart")
		})
	}
}
