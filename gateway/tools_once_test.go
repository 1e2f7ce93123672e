package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/gateway"
)

// counter is tools that say how often they were called. Those that are called before open is closed wait for it.
type counter struct {
	called  atomic.Int64
	started chan struct{}
	open    chan struct{}
}

func newCounter() *counter {
	return &counter{started: make(chan struct{}, 2_000), open: make(chan struct{})}
}

func (c *counter) Offer(tool.Caller) []tool.Spec { return nil }

func (c *counter) Call(ctx context.Context, _ tool.Caller, name string, _ json.RawMessage) (tool.Output, error) {
	n := c.called.Add(1)
	c.started <- struct{}{}
	select {
	case <-c.open:
	case <-ctx.Done():
		return tool.Output{}, ctx.Err()
	}
	switch name {
	case "unknown":
		return tool.Output{}, &tool.Error{Code: tool.CodeUnknown, Tool: name}
	case "broken":
		return tool.Output{}, &tool.Error{Code: tool.CodeBroken, Tool: name}
	}
	return tool.Output{Text: fmt.Sprintf("call %d", n)}, nil
}

// Requests with one key call a tool once, also concurrently; another request, or one that failed before the call, is
// another call.
func TestToolsAreInvokedOnceForAKey(t *testing.T) {
	t.Parallel()
	b, tools := setup(t), newCounter()
	b.hand(tools)
	const once = `{"name":"do","args":{"n":1},"idempotencyKey":"k"}`
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, refused := b.call("tools.invoke", once); refused != nil ||
				string(got) != `{"ok":true,"toolName":"do","output":{"content":[{"type":"text","text":"call 1"}]},"source":"core"}` {
				t.Errorf("%s %v", got, refused)
			}
		})
	}
	<-tools.started
	close(tools.open)
	all.Wait()
	b.answer(t, "tools.invoke", once)
	if n := tools.called.Load(); n != 1 {
		t.Fatalf("called %d times", n)
	}
	for _, one := range []struct {
		params string
		calls  int64 // of two requests
	}{
		{`{"name":"do","args":{"n":2},"idempotencyKey":"k"}`, 1},
		{`{"name":"do","args":{"n":1},"idempotencyKey":"k","sessionKey":"talk"}`, 1},
		{`{"name":"other","args":{"n":1},"idempotencyKey":"k"}`, 1},
		{`{"name":"broken","idempotencyKey":"k"}`, 1},
		{`{"name":"unknown","idempotencyKey":"k"}`, 2},
		{`{"name":"do","args":{"n":1}}`, 2},
	} {
		before := tools.called.Load()
		b.answer(t, "tools.invoke", one.params)
		b.answer(t, "tools.invoke", one.params)
		if n := tools.called.Load() - before; n != one.calls {
			t.Errorf("%s: called %d times", one.params, n)
		}
	}
	b.tick(10 * time.Minute)
	before := tools.called.Load()
	if b.answer(t, "tools.invoke", once); tools.called.Load() != before+1 {
		t.Error("it is kept for ever")
	}
}

// Of what was called, the last 1,000 are kept.
func TestInvokedToolsAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	b, tools := setup(t), newCounter()
	close(tools.open)
	b.hand(tools)
	ask := func(n int) (calls int64) {
		before := tools.called.Load()
		b.answer(t, "tools.invoke", fmt.Sprintf(`{"name":"do","idempotencyKey":"k%d"}`, n))
		return tools.called.Load() - before
	}
	for n := range 1_001 {
		ask(n)
	}
	if again, gone := ask(1), ask(0); again != 0 || gone != 1 {
		t.Errorf("called %d times for one that is kept, %d for one that is not", again, gone)
	}
}

// Who waits for the call of another one that leaves has the tool called for himself.
func TestDisconnectKeepsToolCall(t *testing.T) {
	t.Parallel()
	tools := newCounter()
	box := gateway.NewOnceBox(tools, func() time.Time { return began })
	caller := tool.Caller{Entry: tool.ByHTTP, CallID: "k"}
	leaving, leave := context.WithCancel(t.Context())
	left, stays := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := box.Call(leaving, caller, "do", nil)
		left <- err
	}()
	<-tools.started
	go func() {
		_, err := box.Call(t.Context(), caller, "do", nil)
		stays <- err
	}()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-tools.started
	close(tools.open)
	if err := <-stays; err != nil {
		t.Error(err)
	}
}
