package client_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// fakeMethods is a gateway's methods: health says who asks, agent answers twice.
type fakeMethods struct{}

func (fakeMethods) Answer(_ context.Context, call *wire.Call) (any, error) {
	switch call.Method {
	case "health":
		return call.Peer, nil
	case "agent":
		call.Interim(map[string]string{"status": "accepted"})
		return map[string]string{"status": "ok"}, nil
	}
	return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "not now", Retryable: true}
}

func (fakeMethods) Knows(method string) bool { return method == "health" || method == "agent" }
func (fakeMethods) Names() (methods, events []string) {
	return []string{"agent", "health"}, []string{"chat"}
}
func (fakeMethods) Snapshot(context.Context) (wire.Snapshot, error) {
	return wire.Snapshot{Health: json.RawMessage(`{"ok":true}`)}, nil
}

// open runs a hub until the test ends, or end is called.
func open(t *testing.T) (hub *wire.Hub, url string, end func()) {
	t.Helper()
	hub = wire.New(fakeMethods{}, wire.Options{
		Access: wire.Access{Mode: "token", Token: "T"}, Now: time.Now, NewID: uuid.NewString, Logger: slog.New(slog.DiscardHandler), Version: "test",
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	s := httptest.NewServer(hub.Handler())
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return hub, "ws" + strings.TrimPrefix(s.URL, "http"), stop
}

func TestRealGatewayKnowsTheClientAndItsDevice(t *testing.T) {
	t.Parallel()
	_, url, _ := open(t)
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	device := client.Device{Key: key}
	c := dial(t, url, client.Options{Token: "T", Device: &device, DisplayName: "a test", Family: "Linux", MaxProtocol: 3})
	payload, err := c.Call(t.Context(), "health", nil)
	var peer wire.Peer
	if err := errors.Join(err, json.Unmarshal(payload, &peer)); err != nil {
		t.Fatal(err)
	}
	if peer.DeviceID != device.ID() || peer.Protocol != 3 || peer.ConnID != c.Hello().Server.ConnID || peer.Client.DisplayName != "a test" {
		t.Errorf("the gateway knows %+v", peer)
	}
}

func TestRealGatewayAnswersTwiceAndRefuses(t *testing.T) {
	t.Parallel()
	_, url, _ := open(t)
	c := dial(t, url, client.Options{Token: "T"})
	accepted := 0
	final, err := c.CallFinal(t.Context(), "agent", map[string]string{"message": "x", "idempotencyKey": "k"}, func(json.RawMessage) { accepted++ })
	if err != nil || string(final) != `{"status":"ok"}` || accepted != 1 {
		t.Errorf("%s %v after %d interim answers", final, err, accepted)
	}
	var refused *protocol.Error
	if _, err := c.Call(t.Context(), "no.such.method", nil); !errors.As(err, &refused) || refused.Code != protocol.CodeInvalidRequest {
		t.Errorf("an unknown method: %v", err)
	}
}

func TestRealGatewayTellsEventsAndSaysGoodbye(t *testing.T) {
	t.Parallel()
	hub, url, end := open(t)
	heard := make(chan client.Event, 100)
	c := dial(t, url, client.Options{Token: "T", Event: func(e client.Event) { heard <- e }})
	for range 2 {
		hub.Broadcast(wire.Event{Name: "chat", Payload: map[string]int{"n": 1}})
	}
	var seqs []int64
	for len(seqs) < 2 {
		if e := <-heard; e.Name == "chat" {
			seqs = append(seqs, e.Seq)
			if e.Missed != 0 || string(e.Payload) != `{"n":1}` {
				t.Errorf("heard %+v", e)
			}
		}
	}
	if seqs[1] <= seqs[0] {
		t.Errorf("numbers %d", seqs)
	}
	end()
	expectClosed(t, c, 1012, "service restart")
}
