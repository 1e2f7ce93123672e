package client_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const challenge = `{"type":"event","event":"connect.challenge","payload":{"nonce":"n-1","ts":1795227854166}}`

// gate is the server side of one connection, controlled by the test.
type gate struct {
	t *testing.T
	*websocket.Conn
}

// serve answers each connection with script, and returns the URL.
func serve(t *testing.T, script func(g *gate)) (url string) {
	t.Helper()
	var running sync.WaitGroup
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		upgrader := websocket.Upgrader{}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Errorf("upgrade: %v", err)
			return
		}
		defer conn.Close()
		script(&gate{t, conn})
	}))
	t.Cleanup(func() {
		s.Close()
		running.Wait()
	})
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

func (g *gate) say(format string, args ...any) {
	if err := g.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
		g.t.Errorf("say %s: %v", format, err)
	}
}

// asked is a request that the gate has read.
type asked struct {
	Type, ID, Method string
	Params           json.RawMessage
}

// next reads a request; ok is false when the client is gone.
func (g *gate) next() (r asked, ok bool) {
	_, text, err := g.ReadMessage()
	if err != nil {
		return r, false
	}
	if err := json.Unmarshal(text, &r); err != nil || r.Type != "req" {
		g.t.Errorf("no request: %s", text)
	}
	return r, true
}

// letIn does the handshake with a tick interval, and returns the client's parameters.
func (g *gate) letIn(every time.Duration) (params json.RawMessage) {
	g.say(challenge)
	r, ok := g.next()
	if !ok || r.Method != "connect" {
		g.t.Errorf("the first request is %+v", r)
	}
	g.say(`{"type":"res","id":%q,"ok":true,"payload":{"type":"hello-ok","protocol":4,"server":{"version":"v","connId":"c"},"policy":{"tickIntervalMs":%d}}}`,
		r.ID, every.Milliseconds())
	return r.Params
}

// untilGone reads on so that the client's farewell is answered.
func (g *gate) untilGone() {
	for ok := true; ok; {
		_, ok = g.next()
	}
}

func dial(t *testing.T, url string, opts client.Options) *client.Client {
	t.Helper()
	if opts.HandshakeTime == 0 {
		opts.HandshakeTime = testscale.Patience
	}
	c, err := client.Dial(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// expectClosed waits until the connection ends and compares how.
func expectClosed(t *testing.T, c *client.Client, code int, text string) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(testscale.Patience):
		t.Fatal("the connection did not end")
	}
	var closed *client.ClosedError
	if !errors.As(c.Err(), &closed) || closed.Code != code || closed.Text != text {
		t.Errorf("ended with %v, want %d %s", c.Err(), code, text)
	}
}

func TestDialSaysWhoItIs(t *testing.T) {
	t.Parallel()
	said := make(chan json.RawMessage, 1)
	url := serve(t, func(g *gate) {
		said <- g.letIn(time.Minute)
		g.untilGone()
	})
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, url, client.Options{Token: "T", Device: &client.Device{Key: key}, Platform: "Linux", Family: " Linux",
		Scopes: []string{"operator.read", "operator.write"}})
	if h := c.Hello(); h.Protocol != 4 || h.Server.ConnID != "c" || len(h.Raw) == 0 {
		t.Errorf("hello %+v", h)
	}
	var p struct {
		MinProtocol, MaxProtocol int
		Client                   struct{ ID, Mode, Version, Platform, DeviceFamily string }
		Role                     string
		Scopes                   []string
		Auth                     struct{ Token string }
		Device                   struct {
			ID, PublicKey, Signature, Nonce string
			SignedAt                        int64
		}
	}
	if err := json.Unmarshal(<-said, &p); err != nil {
		t.Fatal(err)
	}
	if p.MinProtocol != 3 || p.MaxProtocol != 4 || p.Client.ID != "cli" || p.Client.Mode != "cli" || p.Role != "operator" || p.Auth.Token != "T" {
		t.Errorf("%+v", p)
	}
	id := sha256.Sum256(public)
	if p.Device.ID != hex.EncodeToString(id[:]) || p.Device.PublicKey != base64.RawURLEncoding.EncodeToString(public) || p.Device.Nonce != "n-1" {
		t.Errorf("%+v", p.Device)
	}
	signature, err := base64.RawURLEncoding.DecodeString(p.Device.Signature)
	signed := "v3|" + p.Device.ID + "|cli|cli|operator|operator.read,operator.write|1795227854166|T|n-1|linux|linux"
	if err != nil || !ed25519.Verify(public, []byte(signed), signature) {
		t.Errorf("the signature is not of %s", signed)
	}
}

func TestDialTellsWhyItIsRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, func(g *gate) {
		g.say(challenge)
		r, _ := g.next()
		g.say(`{"type":"res","id":%q,"ok":false,"error":{"code":"INVALID_REQUEST","message":"unauthorized","details":{"code":"AUTH_TOKEN_MISMATCH"}}}`,
			r.ID)
		_ = g.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1008, "unauthorized"), time.Now().Add(time.Minute))
		g.untilGone()
	})
	_, err := client.Dial(t.Context(), url, client.Options{})
	var refused *client.RefusedError
	var reason *protocol.Error
	if !errors.As(err, &refused) || !errors.As(err, &reason) || reason.Code != protocol.CodeInvalidRequest || refused.Closed.Code != 1008 {
		t.Errorf("%v", err)
	}
}

func TestDialTellsWhatIsNoGateway(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	_, err := client.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http"), client.Options{})
	var upgrade *client.UpgradeError
	if !errors.As(err, &upgrade) || upgrade.Status != http.StatusNotFound {
		t.Errorf("a web server: %v", err)
	}
	url := serve(t, func(g *gate) {
		g.say(`{"type":"event","event":"tick"}`)
		g.untilGone()
	})
	if _, err := client.Dial(t.Context(), url, client.Options{}); err == nil || !strings.Contains(err.Error(), "no gateway") {
		t.Errorf("another WebSocket: %v", err)
	}
}

func TestDialDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"does not upgrade": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"upgrades": func(w http.ResponseWriter, r *http.Request) {
			if conn, err := new(websocket.Upgrader).Upgrade(w, r, nil); err == nil { // the client may be gone
				(&gate{t, conn}).untilGone()
			}
		},
	} {
		s := httptest.NewServer(answer)
		t.Cleanup(s.Close)
		_, err := client.Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), client.Options{HandshakeTime: 20 * time.Millisecond})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a silent server that %s: %v", name, err)
		}
	}
	url := serve(t, (*gate).untilGone)
	ctx, stop := context.WithCancelCause(t.Context())
	because := errors.New("told to")
	stop(because)
	if _, err := client.Dial(ctx, url, client.Options{}); err == nil {
		t.Error("dialled though told to end")
	}
}

// Answers come in any order; each goes to the call that asked.
func TestCallsAreConcurrent(t *testing.T) {
	t.Parallel()
	const calls = 20
	url := serve(t, func(g *gate) {
		g.letIn(time.Minute)
		var got []asked
		for range calls {
			r, ok := g.next()
			if !ok {
				return
			}
			got = append(got, r)
		}
		for i := len(got) - 1; i >= 0; i-- {
			g.say(`{"type":"res","id":%q,"ok":true,"payload":{"method":%q,"params":%s}}`, got[i].ID, got[i].Method, got[i].Params)
		}
		g.untilGone()
	})
	c := dial(t, url, client.Options{})
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			method := fmt.Sprint("m", i)
			payload, err := c.Call(t.Context(), method, map[string]int{"n": i})
			if want := fmt.Sprintf(`{"method":%q,"params":{"n":%d}}`, method, i); err != nil || string(payload) != want {
				t.Errorf("%s %v, want %s", payload, err, want)
			}
		})
	}
	wg.Wait()
}

func TestCallTellsWhyItFailed(t *testing.T) {
	t.Parallel()
	url := serve(t, func(g *gate) {
		g.letIn(time.Minute)
		r, _ := g.next()
		g.say(`{"type":"res","id":%q,"ok":false,"payload":{"status":"error"},"error":{"code":"UNAVAILABLE","message":"no","retryable":true,"retryAfterMs":5}}`, r.ID)
		g.untilGone()
	})
	payload, err := dial(t, url, client.Options{}).Call(t.Context(), "x", nil)
	var reason *protocol.Error
	if !errors.As(err, &reason) || reason.Code != protocol.CodeUnavailable || !reason.Retryable || reason.RetryAfter != 5 {
		t.Errorf("%v", err)
	}
	if string(payload) != `{"status":"error"}` {
		t.Errorf("payload %s", payload)
	}
}

// An accepted request is not done: only CallFinal waits for the end.
func TestCallFinalWaitsForTheSecondAnswer(t *testing.T) {
	t.Parallel()
	url := serve(t, func(g *gate) {
		g.letIn(time.Minute)
		for {
			r, ok := g.next()
			if !ok {
				return
			}
			g.say(`{"type":"res","id":%q,"ok":true,"payload":{"status":"accepted"}}`, r.ID)
			g.say(`{"type":"res","id":%q,"ok":true,"payload":{"status":"ok"}}`, r.ID)
		}
	})
	c := dial(t, url, client.Options{})
	var interim []string
	final, err := c.CallFinal(t.Context(), "agent", nil, func(p json.RawMessage) { interim = append(interim, string(p)) })
	if err != nil || string(final) != `{"status":"ok"}` || len(interim) != 1 || interim[0] != `{"status":"accepted"}` {
		t.Errorf("%s %v after %q", final, err, interim)
	}
	if first, err := c.Call(t.Context(), "agent", nil); err != nil || string(first) != `{"status":"accepted"}` {
		t.Errorf("%s %v", first, err)
	}
	if final, err := c.CallFinal(t.Context(), "agent", nil, nil); err != nil || string(final) != `{"status":"ok"}` {
		t.Errorf("%s %v", final, err)
	}
}

func TestEventsComeInOrderWithWhatWasMissed(t *testing.T) {
	t.Parallel()
	url := serve(t, func(g *gate) {
		g.letIn(time.Minute)
		for _, e := range []string{
			`"event":"a","seq":71,"payload":{"x":1}`, `"event":"b","payload":{}`, `"event":"c","seq":72`,
			`"event":"d","seq":75,"stateVersion":{"presence":1,"health":2}`,
		} {
			g.say(`{"type":"event",%s}`, e)
		}
		g.untilGone()
	})
	heard := make(chan client.Event, 4)
	dial(t, url, client.Options{Event: func(e client.Event) { heard <- e }})
	for _, want := range []string{"a 71 0", "b 0 0", "c 72 0", "d 75 2"} {
		e := <-heard
		if got := fmt.Sprint(e.Name, " ", e.Seq, " ", e.Missed); got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
		if e.Name == "d" && (e.StateVersion == nil || e.StateVersion.Health != 2) {
			t.Errorf("state version %v", e.StateVersion)
		}
	}
}

// A silent gateway is treated as gone even if its socket is open; only ticks count.
func TestSilentGatewayIsGone(t *testing.T) {
	t.Parallel()
	url := serve(t, func(g *gate) {
		g.letIn(time.Millisecond)
		g.say(`{"type":"event","event":"health"}`)
		g.untilGone()
	})
	expectClosed(t, dial(t, url, client.Options{}), 4000, "tick timeout")
}

func TestTicksKeepTheConnection(t *testing.T) {
	t.Parallel()
	const every = time.Second // a busy machine delays a tick
	url := serve(t, func(g *gate) {
		g.letIn(every)
		ticks := time.NewTicker(every / 4)
		defer ticks.Stop()
		for range 10 {
			<-ticks.C
			g.say(`{"type":"event","event":"tick","payload":{"ts":1}}`)
		}
		g.say(`{"type":"event","event":"enough"}`)
		g.untilGone()
	})
	enough := make(chan struct{})
	c := dial(t, url, client.Options{Event: func(e client.Event) {
		if e.Name == "enough" {
			close(enough)
		}
	}})
	select {
	case <-enough:
	case <-c.Done():
		t.Errorf("ended with %v", c.Err())
	}
}

func TestWhoWaitsIsToldHowTheConnectionEnded(t *testing.T) {
	t.Parallel()
	url := serve(t, func(g *gate) {
		g.letIn(time.Minute)
		if _, ok := g.next(); ok {
			_ = g.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1012, "service restart"), time.Now().Add(time.Minute))
			g.untilGone()
		}
	})
	c := dial(t, url, client.Options{})
	var closed *client.ClosedError
	if _, err := c.Call(t.Context(), "x", nil); !errors.As(err, &closed) || closed.Code != 1012 {
		t.Errorf("who waited got %v", err)
	}
	expectClosed(t, c, 1012, "service restart")
	if _, err := c.Call(t.Context(), "x", nil); !errors.As(err, &closed) || closed.Code != 1012 {
		t.Errorf("who comes later gets %v", err)
	}
}

// A cancelled call affects no other call.
func TestCallThatIsGivenUpLeavesTheConnection(t *testing.T) {
	t.Parallel()
	late := make(chan struct{})
	url := serve(t, func(g *gate) {
		g.letIn(time.Minute)
		first, _ := g.next()
		<-late
		g.say(`{"type":"res","id":%q,"ok":true}`, first.ID)
		second, _ := g.next()
		g.say(`{"type":"res","id":%q,"ok":true,"payload":2}`, second.ID)
		g.untilGone()
	})
	c := dial(t, url, client.Options{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := c.Call(ctx, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	close(late)
	if payload, err := c.Call(t.Context(), "y", nil); err != nil || string(payload) != "2" {
		t.Errorf("%s %v", payload, err)
	}
}

func TestTooLargeFrameEndsTheConnection(t *testing.T) {
	t.Parallel()
	url := serve(t, func(g *gate) {
		g.letIn(time.Minute)
		_ = g.WriteMessage(websocket.TextMessage, make([]byte, protocol.MaxPayload+1)) // the client may be gone before all of it is written
		g.untilGone()
	})
	c := dial(t, url, client.Options{})
	<-c.Done()
	if !errors.Is(c.Err(), websocket.ErrReadLimit) {
		t.Errorf("ended with %v", c.Err())
	}
}

func TestParamsThatAreNoJSONAreTheCallersFault(t *testing.T) {
	t.Parallel()
	url := serve(t, func(g *gate) {
		g.letIn(time.Minute)
		g.untilGone()
	})
	c := dial(t, url, client.Options{})
	if _, err := c.Call(t.Context(), "x", make(chan int)); err == nil || c.Err() != nil {
		t.Errorf("%v, connection %v", err, c.Err())
	}
	_ = c.Close()
	expectClosed(t, c, 1000, "closed by this client")
}
