package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// echo answers with what it was asked.
func echo(_ context.Context, call *wire.Call) (any, error) { return call.Params, nil }

func TestFramesAfterTheHandshake(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{methods: book{"x.echo": echo, "sessions.list": echo}})
	c := g.enter(t)
	for _, f := range []struct {
		name, text, id, want string // want "": no answer
	}{
		{"a request", `{"type":"req","id":"a","method":"x.echo","params":{"k":1}}`, "a", `{"k":1}`},
		{"no params", `{"type":"req","id":"b","method":"x.echo"}`, "b", `{}`},
		{"null params", `{"type":"req","id":"c","method":"x.echo","params":null}`, "c", `{}`},
		{"the same id again", `{"type":"req","id":"a","method":"x.echo","params":{"k":2}}`, "a", `{"k":2}`},
		{"not JSON", `hello`, "", ""},
		{"an array", `[]`, "invalid", "invalid request frame: must be object"},
		{"no id", `{"type":"req","method":"health"}`, "invalid", "invalid request frame: must have required property 'id'"},
		{"one member too many", `{"type":"req","id":"d","method":"health","foo":1}`, "d",
			"invalid request frame: at root: unexpected property 'foo'"},
		{"unknown method", `{"type":"req","id":"e","method":"no.such"}`, "e", "unknown method: no.such"},
		{"wrong params", `{"type":"req","id":"f","method":"sessions.list","params":{"limit":0}}`, "f",
			"invalid sessions.list params: at /limit: must be >= 1"},
		{"params that are no object", `{"type":"req","id":"g","method":"sessions.list","params":[]}`, "g", "invalid sessions.list params: must be object"},
		{"connect again", `{"type":"req","id":"h","method":"connect","params":{}}`, "h", "connect is only valid as the first request"},
		{"for nodes", `{"type":"req","id":"i","method":"node.event","params":{}}`, "i", "unauthorized role: operator"},
	} {
		c.text(f.text)
		if f.want == "" {
			continue
		}
		a := c.answer(f.id)
		got := string(a.Payload)
		if a.Error != nil {
			got = a.Error.Message
		}
		if got != f.want || a.Error != nil && a.Error.Code != protocol.CodeInvalidRequest {
			t.Errorf("%s: %s %+v", f.name, a.Payload, a.Error)
		}
	}
	if s := g.Stats(); s.Malformed != 4 || s.Requests != 9 || s.Failures[protocol.CodeInvalidRequest] != 8 {
		t.Errorf("%+v", s)
	}
}

// An unknown method is unknown to every client; permission is checked before parameters.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{methods: book{"sessions.list": echo, "chat.send": echo, "sessions.patch": echo}})
	reader := params{"scopes": []string{protocol.ScopeRead}, "minProtocol": 3, "maxProtocol": 3}
	for _, c := range []struct {
		change       params
		method       string
		code, detail string
	}{
		{reader, "health", "", ""},
		{reader, "sessions.list", "", ""},
		{reader, "chat.send", "INVALID_REQUEST", "missing scope: operator.write"},
		{reader, "no.such", "INVALID_REQUEST", "unknown method: no.such"},
		{reader, "connect", "INVALID_REQUEST", "connect is only valid as the first request"},
		{reader, "node.event", "INVALID_REQUEST", "unauthorized role: operator"},
		{params{"scopes": nil}, "no.such", "INVALID_REQUEST", "unknown method: no.such"},
		{params{"scopes": nil}, "health", "", ""},
		{params{"scopes": nil}, "sessions.list", "FORBIDDEN", "missing scope: operator.read"},
	} {
		a := g.enter(t, c.change).ask(c.method, params{})
		switch {
		case a.OK && c.code == "":
		case a.OK, a.Error.Code != c.code, a.Error.Message != c.detail:
			t.Errorf("%v %s: %v %+v", c.change, c.method, a.OK, a.Error)
		}
	}
}

func TestFramesInEveryForm(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{methods: book{"x.echo": echo}})
	c := g.enter(t)
	if err := c.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"req","id":"bin","method":"x.echo","params":{"t":"é"}}`)); err != nil {
		t.Fatal(err)
	}
	if a := c.answer("bin"); string(a.Payload) != `{"t":"é"}` {
		t.Errorf("binary: %s", a.Payload)
	}
	text := `{"type":"req","id":"parts","method":"x.echo","params":{"t":"` + strings.Repeat("é", 9_999) + `"}}`
	w, err := c.NextWriter(websocket.TextMessage)
	if err != nil {
		t.Fatal(err)
	}
	for len(text) > 0 { // gorilla cuts frames at its buffer, in the middle of characters too
		n := min(len(text), 777)
		if _, err := w.Write([]byte(text[:n])); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if a := c.answer("parts"); len(a.Payload) != 9_999*2+len(`{"t":""}`) {
		t.Errorf("in pieces: %d bytes", len(a.Payload))
	}
	large := `{"t":"` + strings.Repeat("x", 2<<20) + `"}`
	if a := c.ask("x.echo", json.RawMessage(large)); len(a.Payload) != len(large) {
		t.Errorf("2 MiB: %d bytes, %+v", len(a.Payload), a.Error)
	}
}

func TestBadFramesCloseTheConnection(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	invalid := g.enter(t)
	invalid.text("{\"type\":\"req\",\"id\":\"\xff\",\"method\":\"health\"}")
	if code, _ := invalid.goodbye(); code != websocket.CloseInvalidFramePayloadData {
		t.Errorf("invalid UTF-8: %d", code)
	}
	large := g.enter(t)
	wrote := make(chan error, 1)
	go func() { wrote <- large.WriteMessage(websocket.TextMessage, make([]byte, 25<<20+1)) }()
	if code, _ := large.goodbye(); code != websocket.CloseMessageTooBig {
		t.Errorf("too large: %d", code)
	}
	<-wrote
	unmasked := g.enter(t)
	if _, err := unmasked.NetConn().Write([]byte{0x81, 2, '{', '}'}); err != nil {
		t.Fatal(err)
	}
	if code, _ := unmasked.goodbye(); code != websocket.CloseProtocolError {
		t.Errorf("unmasked: %d", code)
	}
	polite := g.enter(t)
	if err := polite.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4000, "tick timeout"), time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if code, _ := polite.goodbye(); code != 4000 {
		t.Errorf("a client's goodbye is answered with %d", code)
	}
	role := g.enter(t)
	for range 11 {
		role.send("node.event", params{})
	}
	if code, reason := role.goodbye(); code != 1008 || reason != "repeated unauthorized calls" {
		t.Errorf("a role that asks again and again: %d %q", code, reason)
	}
	g.until(t, "all have left", func(s wire.Stats) bool { return s.Clients == 0 && s.Peers == 0 && s.QueuedBytes == 0 })
}

// A slow request delays no other client, and of one client only a limited number run at a time; further ones wait on
// its side.
func TestRequestsOfOneClientRunTogetherButBounded(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int64
	started, release := make(chan struct{}, 100), make(chan struct{})
	g := serve(t, setup{options: func(o *wire.Options) { o.MaxInFlight = 5 }, methods: book{"agent.wait": func(
		context.Context, *wire.Call,
	) (any, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		started <- struct{}{}
		<-release
		return params{"ok": true}, nil
	}}})
	c := g.enter(t)
	for n := range 4 {
		c.send("agent.wait", params{"runId": fmt.Sprint(n)})
		<-started
	}
	if a := c.ask("health", nil); !a.OK {
		t.Errorf("beside four slow requests: %+v", a.Error)
	}
	ids := map[string]bool{}
	for n := range 20 {
		ids[c.send("agent.wait", params{"runId": fmt.Sprint(n)})] = true
	}
	<-started
	if a := g.enter(t).ask("health", nil); !a.OK {
		t.Errorf("beside a client that asks too much: %+v", a.Error)
	}
	close(release)
	for len(ids) > 0 {
		f := c.read()
		delete(ids, f.ID)
	}
	if most.Load() != 5 {
		t.Errorf("%d ran at the same time", most.Load())
	}
}

func TestAnswersOfMethods(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{methods: book{
		"x.refused": func(context.Context, *wire.Call) (any, error) {
			return nil, fmt.Errorf("inside: %w", &protocol.Error{Code: "NOT_LINKED", Message: "no", Retryable: true, RetryAfter: 5})
		},
		"x.failed": func(context.Context, *wire.Call) (any, error) {
			return params{"status": "error"}, errors.New("disk full")
		},
		"x.panics": func(context.Context, *wire.Call) (any, error) { panic("a secret of the house") },
		"x.no":     func(context.Context, *wire.Call) (any, error) { return make(chan int), nil },
		"x.nil":    func(context.Context, *wire.Call) (any, error) { return nil, nil },
		"x.twice": func(_ context.Context, call *wire.Call) (any, error) {
			call.Interim(params{"status": "accepted"})
			return params{"status": "ok"}, nil
		},
	}})
	c := g.enter(t)
	for method, want := range map[string]failure{
		"x.refused": {Code: "NOT_LINKED", Message: "no", Retryable: true, RetryAfterMs: 5},
		"x.failed":  {Code: "UNAVAILABLE", Message: "disk full"},
		"x.panics":  {Code: "UNAVAILABLE", Message: "internal error in x.panics"},
		"x.no":      {Code: "UNAVAILABLE", Message: "internal error in x.no"},
	} {
		a := c.ask(method, nil)
		if a.OK || a.Error == nil || a.Error.Code != want.Code || a.Error.Message != want.Message || a.Error.Retryable != want.Retryable ||
			a.Error.RetryAfterMs != want.RetryAfterMs || (len(a.Payload) > 0) != (method == "x.failed") {
			t.Errorf("%s: %+v %s", method, a.Error, a.Payload)
		}
	}
	if a := c.ask("x.nil", nil); !a.OK {
		t.Errorf("nothing: %+v", a.Error)
	}
	id := c.send("x.twice", nil)
	for _, want := range []string{`{"status":"accepted"}`, `{"status":"ok"}`} {
		if a := c.answer(id); !a.OK || string(a.Payload) != want {
			t.Errorf("%s instead of %s", a.Payload, want)
		}
	}
	if s := g.Stats(); s.InFlight != 0 || s.Failures["UNAVAILABLE"] != 3 || s.Failures["NOT_LINKED"] != 1 {
		t.Errorf("%+v", s)
	}
}

func TestCallSaysWhoAsks(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{methods: book{"x.who": func(_ context.Context, call *wire.Call) (any, error) { return call.Peer, nil }}})
	c := g.enter(t, params{"caps": []string{"tool-events"}})
	var p wire.Peer
	if err := json.Unmarshal(c.ask("x.who", nil).Payload, &p); err != nil {
		t.Fatal(err)
	}
	if p.ConnID == "" || p.Protocol != 4 || p.Client.ID != "gateway-client" || p.Role != "operator" || len(p.Scopes) != len(all) ||
		len(p.Caps) != 1 || p.IP != "127.0.0.1" || p.Origin != "" || p.DeviceID != "" {
		t.Errorf("%+v", p)
	}
	if peers := g.Peers(); len(peers) != 1 || peers[0].ConnID != p.ConnID {
		t.Errorf("%+v", peers)
	}
}

// The requests of a client that disconnects, cleanly or not, are cancelled.
func TestRequestsEndWithTheirConnection(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan error)
	g := serve(t, setup{methods: book{"agent.wait": func(ctx context.Context, _ *wire.Call) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}})
	for name, hangUp := range map[string]func(c *conn){
		"politely": func(c *conn) { _ = c.WriteControl(websocket.CloseMessage, nil, time.Now().Add(patience)) },
		"at once":  func(c *conn) { _ = c.Close() },
		"reset": func(c *conn) {
			_ = c.NetConn().(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		},
	} {
		c := g.enter(t)
		c.send("agent.wait", params{"runId": "r"})
		<-started
		hangUp(c)
		if err := <-ended; err == nil {
			t.Errorf("%s: it goes on", name)
		}
	}
	g.until(t, "all have left", func(s wire.Stats) bool { return s.Clients == 0 && s.InFlight == 0 && s.QueuedBytes == 0 })
}

// The requests of one client take bounded memory even if it never reads: it is not read either.
func TestClientThatNeverReadsItsAnswersIsNotRead(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	var asked atomic.Int64
	g := serve(t, setup{narrow: true, options: func(o *wire.Options) { o.QueueBytes, o.MaxInFlight = 1<<20, 4 }, methods: book{
		"x.large": func(context.Context, *wire.Call) (any, error) {
			asked.Add(1)
			return strings.Repeat("x", size), nil
		}}})
	c := g.enter(t)
	const requests = 16
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range requests {
			c.send("x.large", nil)
		}
	}()
	g.until(t, "it is not read any more", func(s wire.Stats) bool { return s.QueuedBytes >= 3*size && s.InFlight == 0 })
	if n := asked.Load(); n > 9 {
		t.Errorf("%d of %d requests were done", n, requests)
	}
	<-sent
	for range requests {
		c.read()
	}
	g.until(t, "all is told", func(s wire.Stats) bool { return s.QueuedBytes == 0 })
	if s := g.Stats(); s.MostQueued > 5*size || s.Slow != 0 {
		t.Errorf("%+v", s)
	}
}
