package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// listeners is the number of clients for which the encodings of an event are counted.
const listeners = 200

// counted is a payload that counts how often it is encoded.
type counted struct{ times *atomic.Int64 }

func (c counted) MarshalJSON() ([]byte, error) {
	c.times.Add(1)
	return []byte(`{"state":"final"}`), nil
}

// noMethods is a gateway without methods.
type noMethods struct{}

func (noMethods) Answer(_ context.Context, call *wire.Call) (any, error) {
	return nil, &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unknown method: " + call.Method}
}
func (noMethods) Knows(string) bool                 { return false }
func (noMethods) Names() (methods, events []string) { return []string{}, []string{} }
func (noMethods) Snapshot(context.Context) (wire.Snapshot, error) {
	return wire.Snapshot{Health: json.RawMessage(`{"ok":true}`)}, nil
}

// countEncodings sends one event to some clients of a hub in this process, and returns how often it was encoded.
func countEncodings(ctx context.Context) (times float64, err error) {
	var ids, encoded atomic.Int64
	hub := wire.New(noMethods{}, wire.Options{
		Access: wire.Access{Mode: "token", Token: gatewayToken}, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Version: "bench",
		NewID: func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", ids.Add(1)) },
	})
	address, stop, err := listen(ctx, hub.Handler(), hub.Run)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	all, _, err := gather(ctx, "ws://"+address, listeners)
	defer all.leave()
	if err != nil {
		return 0, err
	}
	hub.Broadcast(wire.Event{Name: "chat", Payload: counted{&encoded}})
	_, err = all.heard(ctx, 1)
	return float64(encoded.Load()), err
}
