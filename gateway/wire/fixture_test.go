package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// token is the secret of all gateways here, unless a test says otherwise.
const token = "a long enough secret"

// all scopes that clients ask for.
var all = []string{protocol.ScopeAdmin, protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeApprovals, protocol.ScopePairing}

// patience is how long anything here may take before a test gives up.
const patience = testscale.Patience

// book is a set of methods.
type book map[string]func(ctx context.Context, call *wire.Call) (any, error)

var health = json.RawMessage(`{"ok":true,"ts":1,"durationMs":0,"channels":{},"agents":[]}`)

func (b book) Answer(ctx context.Context, call *wire.Call) (any, error) {
	return b[call.Method](ctx, call)
}
func (b book) Knows(method string) bool          { return b[method] != nil }
func (b book) Names() (methods, events []string) { return []string{"health"}, []string{"tick"} }

func (b book) Snapshot(context.Context) (wire.Snapshot, error) {
	return wire.Snapshot{Health: health, ConfigPath: "/c/openclaw.json", StateDir: "/c",
		SessionDefaults: protocol.SessionDefaults{DefaultAgentID: "main", MainKey: "main", MainSessionKey: "agent:main:main", Scope: "per-sender"}}, nil
}

// clock is the time that the gateway goes by.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// gate is a gateway that serves.
type gate struct {
	*wire.Hub
	addr  string
	clock *clock
	stop  func() // ends Run and waits for it

	narrow bool
}

type setup struct {
	options func(*wire.Options)
	methods book
	handler wire.Methods // instead of methods
	narrow  bool         // connections hold little on their way
	idle    bool         // Run does not begin
}

// narrowBuffer is what a narrow connection holds, each way; systems double it. Below the largest segment of loopback, a connection that has
// stalled would take seconds to come to life again.
const narrowBuffer = 80 << 10

func serve(t testing.TB, s setup) *gate {
	t.Helper()
	g := &gate{clock: &clock{at: time.Now()}, narrow: s.narrow}
	opts := wire.Options{Access: wire.Access{Mode: "token", Token: token}, Now: g.clock.now, NewID: uuid.NewString,
		Logger: slog.New(slog.DiscardHandler), Version: "1.2.3", Host: "box", TickInterval: time.Hour, HealthEvery: time.Hour, WriteTime: patience}
	if s.options != nil {
		s.options(&opts)
	}
	if s.methods == nil {
		s.methods = book{}
	}
	if s.methods["health"] == nil {
		s.methods["health"] = func(context.Context, *wire.Call) (any, error) { return health, nil }
	}
	if s.handler == nil {
		s.handler = s.methods
	}
	g.Hub = wire.New(s.handler, opts)
	server := httptest.NewUnstartedServer(g.Handler())
	if s.narrow {
		server.Listener = narrowed{server.Listener}
	}
	server.Start()
	g.addr = server.Listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	if s.idle {
		ended <- nil
	} else {
		go func() { ended <- g.Run(ctx) }()
	}
	g.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() {
		g.stop()
		server.Close()
	})
	return g
}

type narrowed struct{ net.Listener }

func (l narrowed) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(narrowBuffer))
	}
	return conn, err
}

// conn is a client.
type conn struct {
	*websocket.Conn
	t     testing.TB
	nonce string
	ts    int64
	next  int
}

// said is a frame of the gateway.
type said struct {
	Type    string
	ID      string
	OK      bool
	Payload json.RawMessage
	Error   *failure
	Event   string
	Seq     *int64
	State   *protocol.StateVersion `json:"stateVersion"`
}

type failure struct {
	Code, Message string
	Details       map[string]any
	Retryable     bool
	RetryAfterMs  int64
}

// dial opens a connection, of a page if origin is not "".
func (g *gate) dial(t testing.TB, origin string) *conn {
	t.Helper()
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	return g.dialWith(t, header)
}

func (g *gate) dialWith(t testing.TB, header http.Header) *conn {
	t.Helper()
	dialer := websocket.Dialer{HandshakeTimeout: patience, NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok && g.narrow {
			err = errors.Join(err, tcp.SetReadBuffer(narrowBuffer))
		}
		return c, err
	}}
	ws, response, err := dialer.Dial("ws://"+g.addr+"/any/path?x=1", header)
	if err != nil {
		t.Fatalf("dial: %v (%v)", err, response)
	}
	_ = response.Body.Close()
	c := &conn{Conn: ws, t: t}
	t.Cleanup(func() { _ = ws.Close() })
	return c
}

// challenged opens a connection and reads the challenge.
func (g *gate) challenged(t testing.TB, origin string) *conn {
	t.Helper()
	return g.dial(t, origin).challenged()
}

func (c *conn) challenged() *conn {
	c.t.Helper()
	f := c.read()
	var ask struct {
		Nonce string
		TS    int64
	}
	if err := json.Unmarshal(f.Payload, &ask); err != nil || f.Event != "connect.challenge" || ask.Nonce == "" || ask.TS <= 0 || f.Seq != nil {
		c.t.Fatalf("no challenge: %+v", f)
	}
	c.nonce, c.ts = ask.Nonce, ask.TS
	return c
}

// params of connect.
type params map[string]any

// commandLine is a client that no one is shown.
var commandLine = params{"client": params{"id": "cli", "version": "1", "platform": "linux", "mode": "cli"}}

func connect(change ...params) params {
	p := params{"minProtocol": 3, "maxProtocol": 4, "role": "operator", "scopes": all, "auth": params{"token": token},
		"client": params{"id": "gateway-client", "version": "0.0.1", "platform": "linux", "mode": "backend"}}
	for _, c := range change {
		for name, value := range c {
			if p[name] = value; value == nil {
				delete(p, name)
			}
		}
	}
	return p
}

// enter opens a connection that is let in.
func (g *gate) enter(t testing.TB, change ...params) *conn {
	t.Helper()
	c := g.challenged(t, "")
	if f := c.ask("connect", connect(change...)); !f.OK {
		t.Fatalf("not let in: %+v", f.Error)
	}
	return c
}

// ask sends a request and returns its answer. Events before it are forgotten.
func (c *conn) ask(method string, p any) said {
	c.t.Helper()
	return c.answer(c.send(method, p))
}

// send sends a request and returns its id.
func (c *conn) send(method string, p any) string {
	c.t.Helper()
	c.next++
	id := fmt.Sprintf("r%d", c.next)
	request := params{"type": "req", "id": id, "method": method, "params": p}
	if p == nil {
		delete(request, "params")
	}
	if err := c.WriteJSON(request); err != nil {
		c.t.Fatalf("send %s: %v", method, err)
	}
	return id
}

func (c *conn) text(text string) {
	c.t.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// answer reads up to the next answer to a request.
func (c *conn) answer(id string) said {
	c.t.Helper()
	for {
		if f := c.read(); f.Type == "res" && f.ID == id {
			return f
		}
	}
}

// event reads up to the next event of a name.
func (c *conn) event(name string) said {
	c.t.Helper()
	for {
		if f := c.read(); f.Event == name {
			return f
		}
	}
}

func (c *conn) read() said {
	c.t.Helper()
	f, err := c.tryRead()
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	return f
}

// tryRead reads a frame and checks that it is one of those that clients take.
func (c *conn) tryRead() (f said, err error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return f, err
	}
	kind, text, err := c.ReadMessage()
	if err != nil {
		return f, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || kind != websocket.TextMessage {
		c.t.Errorf("%d %s: %v", kind, text, err)
	}
	known := map[string][]string{"res": {"type", "id", "ok", "payload", "error"}, "event": {"type", "event", "payload", "seq", "stateVersion"}}
	err = json.Unmarshal(text, &f)
	for name, value := range members {
		if !slices.Contains(known[f.Type], name) || name != "payload" && string(value) == "null" {
			c.t.Errorf("clients would drop this frame for %s: %s", name, text)
		}
	}
	return f, err
}

// goodbye reads until the gateway closes the connection, and returns with what.
func (c *conn) goodbye() (code int, reason string) {
	c.t.Helper()
	for {
		_, err := c.tryRead()
		if err == nil {
			continue
		}
		var e *websocket.CloseError
		if !errors.As(err, &e) {
			c.t.Fatalf("no goodbye but %v", err)
		}
		return e.Code, e.Text
	}
}

// until waits for something that Stats tells.
func (g *gate) until(t testing.TB, what string, is func(wire.Stats) bool) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !is(g.Stats()) {
		select {
		case <-end.C:
			t.Fatalf("it never came to this: %s: %+v", what, g.Stats())
		case <-again.C:
		}
	}
}

// do asks the port over HTTP.
func (g *gate) do(t testing.TB, method, path, host string, header http.Header) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+g.addr+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if r.Host = host; host == "" {
		r.Host = g.addr
	}
	if header != nil {
		r.Header = header
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}
