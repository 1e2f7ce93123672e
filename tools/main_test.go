package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anything is the schema of any object.
const anything = `{"type":"object"}`

// echo answers with its arguments.
func echo(name, group, schema string) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{Name: name, Group: group, Label: name, Description: name, Schema: json.RawMessage(schema)},
		Do: func(_ context.Context, call *tools.Call) (tool.Output, error) {
			return tool.Output{Text: string(call.Args), Details: call.Args}, nil
		},
	}
}

// doing is a tool that does something.
func doing(do func(ctx context.Context, call *tools.Call) (tool.Output, error)) tools.Tool {
	t := echo("deed", "sessions", anything)
	t.Do = do
	return t
}

// eden is an agent in its main session, in a run.
func eden() tool.Caller {
	return tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: "agent:eden:main", RunID: "run-1", CallID: "call-1"}
}

// lines is a log that tests read.
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

func setup(t testing.TB, change func(*config.Config), list ...tools.Tool) (*tools.Registry, *lines) {
	t.Helper()
	conf := config.Default()
	if change != nil {
		change(conf)
	}
	log := &lines{}
	r, err := tools.New(tools.Options{Config: func() *config.Config { return conf }, Logger: slog.New(slog.NewTextHandler(log, nil)), Tools: list,
		Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return r, log
}

// refused is the *tool.Error that a call ended with.
func refused(t testing.TB, err error) *tool.Error {
	t.Helper()
	var e *tool.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T (%v), want *tool.Error", err, err)
	}
	return e
}
