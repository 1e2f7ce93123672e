package wire_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// On shutdown every client is notified, gets the answers of running requests, and a close code after which it
// reconnects.
func TestShutdown(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	g := serve(t, setup{methods: book{"agent.wait": func(context.Context, *wire.Call) (any, error) {
		started <- struct{}{}
		<-release
		return params{"status": "ok"}, nil
	}}})
	idle, busy, knocking := g.enter(t), g.enter(t), g.challenged(t, "")
	id := busy.send("agent.wait", params{"runId": "r"})
	<-started
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.stop()
	}()
	for _, c := range []*conn{idle, busy} {
		f := c.event("shutdown")
		var payload map[string]any
		if err := json.Unmarshal(f.Payload, &payload); err != nil || payload["reason"] != "gateway stopping" || len(payload) != 1 || f.Seq == nil {
			t.Errorf("%s %v", f.Payload, err)
		}
	}
	for name, c := range map[string]*conn{"idle": idle, "knocking": knocking} {
		if code, reason := c.goodbye(); code != websocket.CloseServiceRestart || reason != "service restart" {
			t.Errorf("%s: %d %q", name, code, reason)
		}
	}
	if r, body := g.do(t, "GET", "/", "", upgradeHeader()); r.StatusCode != 503 || !strings.Contains(body, "stopping") {
		t.Errorf("a new client: %d %s", r.StatusCode, body)
	}
	if r, body := g.do(t, "GET", "/health", "", nil); r.StatusCode != 503 || !strings.Contains(body, `{"ok":false,"status":"stopping"}`) {
		t.Errorf("health: %d %s", r.StatusCode, body)
	}
	select {
	case <-ended:
		t.Error("it has not waited for a request")
	default:
	}
	close(release)
	if f := busy.answer(id); !f.OK {
		t.Errorf("%+v", f)
	}
	if code, _ := busy.goodbye(); code != websocket.CloseServiceRestart {
		t.Errorf("closed with %d", code)
	}
	<-ended
	if s := g.Stats(); s.Clients != 0 || s.Peers != 0 || s.InFlight != 0 || s.QueuedBytes != 0 {
		t.Errorf("%+v", s)
	}
}

// Neither a request that does not end, nor a client that does not read or does not answer, holds up the end for ever.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	g := serve(t, setup{narrow: true, options: func(o *wire.Options) { o.DrainTime, o.CloseTime = 20*time.Millisecond, 20*time.Millisecond },
		methods: book{
			"agent.wait": func(ctx context.Context, _ *wire.Call) (any, error) {
				started <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			},
			"x.large": func(context.Context, *wire.Call) (any, error) { return strings.Repeat("x", 1<<20), nil },
		}})
	endless, stalled, half := g.enter(t), g.enter(t), g.challenged(t, "")
	endless.send("agent.wait", params{"runId": "r"})
	<-started
	stalled.send("x.large", nil)
	g.until(t, "it has stalled", func(s wire.Stats) bool { return s.QueuedBytes >= 1<<20 })
	if err := half.NetConn().(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	g.stop()
	if s := g.Stats(); s.Clients != 0 || s.InFlight != 0 || s.QueuedBytes != 0 {
		t.Errorf("%+v", s)
	}
}

func TestConnectionsWaitForRun(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{idle: true, options: func(o *wire.Options) { o.StartWait = time.Millisecond }})
	if r, body := g.do(t, "GET", "/", "", upgradeHeader()); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if n := g.Stats().Refused[wire.RefusedStopping]; n != 1 {
		t.Errorf("%d were refused", n)
	}
}
