package wire_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// guestOf is a page that another part of the program has let in.
func guestOf(methods ...string) wire.Guest {
	return wire.Guest{Client: protocol.Client{ID: "webchat-ui", Version: "1", Platform: "web", Mode: "webchat"},
		Scopes: []string{protocol.ScopeRead}, Methods: methods, FrameBytes: 1 << 10}
}

// admit opens a connection of a guest, up to hello-ok.
func (g *gate) admit(t testing.TB, guest wire.Guest) (*conn, said) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.Admit(w, r, guest) }))
	if g.narrow {
		server.Listener = narrowed{server.Listener}
	}
	server.Start()
	t.Cleanup(server.Close)
	inside := &gate{Hub: g.Hub, addr: server.Listener.Addr().String(), narrow: g.narrow}
	c := inside.dial(t, "http://a.page")
	return c, c.read()
}

// A guest gets hello-ok without a handshake or a secret, may call what it was given as far as its scopes reach, and hears events.
func TestGuests(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{methods: book{"chat.history": echo, "sessions.list": echo, "chat.send": echo}})
	c, hello := g.admit(t, guestOf("chat.history", "chat.send"))
	var told struct {
		Type     string
		Protocol int
		Snapshot map[string]any
		Auth     struct{ Scopes []string }
	}
	if err := json.Unmarshal(hello.Payload, &told); err != nil || hello.Event != "hello-ok" || told.Type != "hello-ok" || told.Protocol != protocol.Newest ||
		!slices.Equal(told.Auth.Scopes, []string{protocol.ScopeRead}) || told.Snapshot["configPath"] != nil || told.Snapshot["stateDir"] != nil ||
		strings.Contains(string(hello.Payload), token) {
		t.Errorf("%s %v", hello.Payload, err)
	}
	for method, code := range map[string]string{"sessions.list": protocol.CodeForbidden, "chat.send": protocol.CodeForbidden,
		"connect": protocol.CodeInvalidRequest, "x.unknown": protocol.CodeInvalidRequest} {
		if f := c.ask(method, params{"sessionKey": "main", "message": "m", "idempotencyKey": "k"}); f.OK || f.Error.Code != code {
			t.Errorf("%s: %+v", method, f)
		}
	}
	if f := c.ask("chat.history", params{"sessionKey": "main"}); !f.OK || string(f.Payload) != `{"sessionKey":"main"}` {
		t.Errorf("%+v", f)
	}
	g.Broadcast(wire.Event{Name: "chat", Payload: params{"state": "final"}})
	if f := c.event("chat"); string(f.Payload) != `{"state":"final"}` || f.Seq == nil {
		t.Errorf("%+v", f)
	}
	if all := g.Peers(); len(all) != 1 || all[0].Client.ID != "webchat-ui" || all[0].Origin != "http://a.page" {
		t.Errorf("%+v", all)
	}
}

// A guest that sends too large a frame is closed with the code for that, and one that does not read as any slow client.
func TestGuestsAreBounded(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{narrow: true, options: func(o *wire.Options) { o.QueueFrames, o.QueueBytes = 64, 256<<10 }, methods: book{"chat.history": echo}})
	c, _ := g.admit(t, guestOf("chat.history"))
	c.text(`{"type":"req","id":"a","method":"chat.history","params":{"sessionKey":"` + strings.Repeat("x", 1<<10) + `"}}`)
	if code, _ := c.goodbye(); code != websocket.CloseMessageTooBig {
		t.Errorf("closed with %d", code)
	}
	slow, _ := g.admit(t, guestOf("chat.history"))
	large := strings.Repeat("x", 64<<10)
	for g.Stats().Slow == 0 {
		g.Broadcast(wire.Event{Name: "chat", Payload: large})
	}
	if code, reason := slow.goodbye(); code != websocket.ClosePolicyViolation || reason != "slow consumer" {
		t.Errorf("closed with %d %s", code, reason)
	}
	g.until(t, "no client is left", func(s wire.Stats) bool { return s.Clients == 0 })
}

// Guests are told when the gateway stops, get the answers that they wait for, and no new ones are let in.
func TestGuestsAreToldOfTheEnd(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	g := serve(t, setup{methods: book{"chat.history": func(context.Context, *wire.Call) (any, error) {
		close(started)
		<-release
		return params{}, nil
	}}})
	c, _ := g.admit(t, guestOf("chat.history"))
	id := c.send("chat.history", params{"sessionKey": "main"})
	<-started
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.stop()
	}()
	c.event("shutdown")
	close(release)
	if f := c.answer(id); !f.OK {
		t.Errorf("%+v", f)
	}
	if code, _ := c.goodbye(); code != websocket.CloseServiceRestart {
		t.Errorf("closed with %d", code)
	}
	<-ended
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.Header = upgradeHeader()
	if g.Admit(w, r, guestOf()); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a new one: %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	if g.Admit(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), guestOf()); w.Code != http.StatusUpgradeRequired {
		t.Errorf("no WebSocket: %d", w.Code)
	}
}
