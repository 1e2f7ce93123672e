package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// Whatever goes wrong inside of a tool, its caller survives and learns nothing of it, and the log has it, without secrets.
func TestBrokenTools(t *testing.T) {
	t.Parallel()
	const secret = "sk-abcdefghijklmnop0123456789"
	for name, c := range map[string]struct {
		do     func(context.Context, *tools.Call) (tool.Output, error)
		logged string
	}{
		"panic":        {func(context.Context, *tools.Call) (tool.Output, error) { panic("broken with " + secret) }, "panic: broken with ***"},
		"panic of nil": {func(context.Context, *tools.Call) (tool.Output, error) { panic(nil) }, "panic: "},
		"index out of range": {func(_ context.Context, call *tools.Call) (tool.Output, error) {
			return tool.Output{Text: string(call.Args[1<<20])}, nil
		}, "out of range"},
		"error": {func(context.Context, *tools.Call) (tool.Output, error) {
			return tool.Output{}, errors.New("disk " + secret)
		}, "disk ***"},
		"ended goroutine": {func(context.Context, *tools.Call) (tool.Output, error) { runtime.Goexit(); return tool.Output{}, nil }, "without an answer"},
		"details of another kind": {func(context.Context, *tools.Call) (tool.Output, error) {
			return tool.Output{Text: "x", Details: json.RawMessage("[1]")}, nil
		}, "not a JSON object"},
		"invalid details": {func(context.Context, *tools.Call) (tool.Output, error) {
			return tool.Output{Text: "x", Details: json.RawMessage("{1}")}, nil
		}, "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, log := setup(t, nil, doing(c.do))
			out, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(`{"a":"b"}`))
			if e := refused(t, err); e.Code != tool.CodeBroken || e.Text != "tool execution failed" || e.Tool != "deed" || out.Text != "" {
				t.Errorf("error is %+v with %+v", e, out)
			}
			text := log.String()
			if !strings.Contains(text, c.logged) || !strings.Contains(text, "tool=deed") || !strings.Contains(text, "run=run-1") || strings.Contains(text, secret) {
				t.Errorf("log is %s", text)
			}
			if strings.HasPrefix(name, "panic") && !strings.Contains(text, "run_test.go") {
				t.Errorf("the log has no stack: %s", text)
			}
			if got := r.Stats(); got != (tools.Stats{Calls: 1, Broken: 1}) {
				t.Errorf("stats are %+v", got)
			}
		})
	}
}

// A tool's own explanation of a failure reaches the caller.
func TestToolsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	r, log := setup(t, nil, doing(func(context.Context, *tools.Call) (tool.Output, error) {
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Field: "/to", Text: "no target", Hint: "name an agent"}
	}))
	_, err := r.Call(t.Context(), eden(), "deed", nil)
	if e := refused(t, err); *e != (tool.Error{Code: tool.CodeInvalid, Tool: "deed", Field: "/to", Text: "no target", Hint: "name an agent"}) {
		t.Errorf("error is %+v", e)
	}
	if log.String() != "" {
		t.Errorf("log is %s", log)
	}
}

// A tool that respects ctx ends with it; if it has succeeded by then, its answer counts.
func TestToolsThatFollowCancellation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, log := setup(t, nil, doing(func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			<-ctx.Done()
			if string(call.Args) == "{}" {
				return tool.Output{}, context.Cause(ctx)
			}
			return tool.Output{Text: "done"}, nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := r.Call(ctx, eden(), "deed", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if out, err := r.Call(ctx, eden(), "deed", json.RawMessage(`{"a":1}`)); err != nil || out.Text != "done" {
			t.Errorf("%+v, %v", out, err)
		}
		if got := r.Stats(); got != (tools.Stats{Calls: 2}) || log.String() != "" {
			t.Errorf("stats are %+v, log is %s", got, log)
		}
	})
}

// A tool that ignores ctx holds up no caller: the caller leaves, the call is counted until it ends, and their number is limited.
func TestToolsThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r, log := setup(t, nil, doing(func(context.Context, *tools.Call) (tool.Output, error) {
			<-release
			panic("late")
		}), echo("other", "x", anything))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		calls := 0
		for {
			_, err := r.Call(ctx, eden(), "deed", nil)
			if errors.As(err, new(*tool.Error)) {
				break
			}
			if calls++; !errors.Is(err, context.DeadlineExceeded) || calls > 100 {
				t.Fatalf("call %d: error is %v", calls, err)
			}
			var next context.CancelFunc
			ctx, next = context.WithTimeout(t.Context(), time.Minute)
			defer next()
		}
		if took := time.Since(began); calls != 16 || took != 16*(time.Minute+time.Second) {
			t.Errorf("after %d calls and %s", calls, took)
		}
		if got := r.Stats(); got != (tools.Stats{Calls: 17, Broken: 1, Running: 16, Left: 16}) {
			t.Errorf("stats are %+v", got)
		}
		if out, err := r.Call(t.Context(), eden(), "other", nil); err != nil || out.Text != "{}" {
			t.Errorf("another tool: %+v, %v", out, err)
		}
		close(release)
		synctest.Wait()
		if got := r.Stats(); got != (tools.Stats{Calls: 18, Broken: 17}) || strings.Count(log.String(), "panic: late") != 16 {
			t.Errorf("stats are %+v, log is %s", got, log)
		}
	})
}

// A call whose ctx has ended before does not begin.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	t.Parallel()
	r, _ := setup(t, nil, doing(func(context.Context, *tools.Call) (tool.Output, error) { return tool.Output{Text: "done"}, nil }))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := r.Call(ctx, eden(), "deed", nil); !errors.Is(err, context.Canceled) || out.Text != "" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestHugeOutput(t *testing.T) {
	t.Parallel()
	r, _ := setup(t, nil, doing(func(_ context.Context, call *tools.Call) (tool.Output, error) {
		var args struct{ Bytes int }
		if err := json.Unmarshal(call.Args, &args); err != nil {
			return tool.Output{}, err
		}
		text := strings.Repeat("가", args.Bytes/3)
		return tool.Output{Text: text, Details: json.RawMessage(`{"text":"` + text + `"}`), IsError: true}, nil
	}))
	for bytes, cut := range map[string]bool{"3000": false, "262143": true, "262146": true, "20000000": true} {
		out, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(`{"Bytes":`+bytes+`}`))
		if err != nil || len(out.Text) > tools.MaxOutput || len(out.Details) > tools.MaxOutput || !utf8.ValidString(out.Text) || !json.Valid(out.Details) || !out.IsError {
			t.Errorf("%s: text has %d bytes, details %d, %v", bytes, len(out.Text), len(out.Details), err)
		}
		marked, replaced := strings.HasSuffix(out.Text, "\n...(truncated)..."), strings.HasPrefix(string(out.Details), `{"bytes":`)
		if marked != (bytes != "3000" && bytes != "262143") || replaced != cut {
			t.Errorf("%s: marked %v, replaced %v", bytes, marked, replaced)
		}
	}
	r, _ = setup(t, nil, doing(func(context.Context, *tools.Call) (tool.Output, error) {
		return tool.Output{Text: "a\xffb", Details: json.RawMessage("  {} ")}, nil
	}))
	if out, err := r.Call(t.Context(), eden(), "deed", nil); err != nil || out.Text != "a\uFFFDb" || string(out.Details) != "{}" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAnswersKeepTheirScript(t *testing.T) {
	t.Parallel()
	out, err := tools.Refuse(map[string]string{"error": "<안녕> & 😀"})
	if err != nil || !out.IsError || out.Text != `{"error":"<안녕> & 😀"}` || string(out.Details) != out.Text {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := tools.Answer(func() {}); err == nil {
		t.Error("a function is answered")
	}
}

// Concurrent calls have their own arguments, and the counters add up.
func TestManyCallAtOnce(t *testing.T) {
	t.Parallel()
	r, _ := setup(t, nil, echo("deed", "x", judging))
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if i%4 == 0 {
				if _, err := r.Call(t.Context(), eden(), "deed", nil); !errors.As(err, new(*tool.Error)) {
					t.Errorf("call %d: %v", i, err)
				}
				return
			}
			want := fmt.Sprintf(`{"to":"%d"}`, i)
			if out, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(want)); err != nil || out.Text != want {
				t.Errorf("call %d: %s, %v", i, out.Text, err)
			}
		})
	}
	all.Wait()
	if got := r.Stats(); got != (tools.Stats{Calls: 200, Invalid: 50}) {
		t.Errorf("stats are %+v", got)
	}
}
