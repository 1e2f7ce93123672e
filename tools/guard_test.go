package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// guarded is a registry with the tool deed behind a guard, and what deed was called with.
func guarded(t *testing.T, guard func(context.Context, *tools.Call, *tool.Spec) error) (r *tools.Registry, log *lines, called *[]string) {
	t.Helper()
	called, log = new([]string), &lines{}
	deed := echo("deed", "files", `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}`)
	deed.Do = func(_ context.Context, call *tools.Call) (tool.Output, error) {
		*called = append(*called, string(call.Args))
		return tool.Output{Text: "done"}, nil
	}
	r, err := tools.New(tools.Options{Config: config.Default, Logger: slog.New(slog.NewTextHandler(log, nil)), Tools: []tools.Tool{deed},
		Guard: guard, Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return r, log, called
}

// The guard is called for valid calls, with the tool's arguments, and decides.
func TestGuard(t *testing.T) {
	t.Parallel()
	asked := 0
	r, log, called := guarded(t, func(_ context.Context, call *tools.Call, spec *tool.Spec) error {
		asked++
		spec.Schema[0] = '!' // what it is given is its own
		if spec.Name != "deed" || spec.Group != "files" || call.SessionKey != "agent:eden:main" {
			return errors.New("what is this?")
		}
		if strings.Contains(string(call.Args), "forbidden") {
			return &tool.Error{Code: tool.CodeTaskRequired, Text: "not now", Hint: "later"}
		}
		return nil
	})
	if out, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(`{"a":"b"}`)); err != nil || out.Text != "done" {
		t.Errorf("%+v, %v", out, err)
	}
	_, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(`{"a":"forbidden"}`))
	if e := refused(t, err); *e != (tool.Error{Code: tool.CodeTaskRequired, Tool: "deed", Text: "not now", Hint: "later"}) {
		t.Errorf("error is %+v", e)
	}
	for _, args := range []string{`{"a":1}`, `{"b":"c"}`} {
		if _, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(args)); refused(t, err).Code != tool.CodeInvalid {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, err := r.Call(t.Context(), eden(), "other", nil); refused(t, err).Code != tool.CodeUnknown {
		t.Error(err)
	}
	if asked != 2 || len(*called) != 1 || (*called)[0] != `{"a":"b"}` {
		t.Errorf("the guard was asked %d times, the tool called with %q", asked, *called)
	}
	if got := r.Stats(); got != (tools.Stats{Calls: 5, Unknown: 1, Invalid: 2}) || log.String() != "" {
		t.Errorf("stats are %+v, log is %s", got, log)
	}
}

// A guard that fails or panics forbids the call, and callers learn nothing of it.
func TestBrokenGuards(t *testing.T) {
	t.Parallel()
	const secret = "sk-abcdefghijklmnop0123456789"
	for name, guard := range map[string]func() error{
		"error": func() error { return errors.New("no table " + secret) },
		"panic": func() error { panic("no table " + secret) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, log, called := guarded(t, func(context.Context, *tools.Call, *tool.Spec) error { return guard() })
			_, err := r.Call(t.Context(), eden(), "deed", nil)
			if e := refused(t, err); e.Code != tool.CodeBroken || e.Text != "tool execution failed" {
				t.Errorf("error is %+v", e)
			}
			if len(*called) != 0 {
				t.Errorf("the tool was called with %q", *called)
			}
			if text := log.String(); !strings.Contains(text, "no table ***") || strings.Contains(text, secret) {
				t.Errorf("log is %s", text)
			}
			if got := r.Stats(); got != (tools.Stats{Calls: 1, Broken: 1}) {
				t.Errorf("stats are %+v", got)
			}
		})
	}
}
