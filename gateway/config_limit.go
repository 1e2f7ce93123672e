package gateway

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Rate limit of configuration changes per client.
const (
	writesPerWindow = 3
	writeWindow     = time.Minute
)

// writeLimit limits how often a client changes the configuration. Failed attempts count too.
type writeLimit struct {
	now func() time.Time

	mu      sync.Mutex
	windows map[writerID]*window
}

// writerID identifies the client: a device at an address, or without a device all programs of one name there.
// Reconnecting does not change it.
type writerID struct{ device, address, program string }

type window struct {
	began time.Time
	n     int
}

func newWriteLimit(now func() time.Time) *writeLimit {
	return &writeLimit{now: now, windows: map[writerID]*window{}}
}

// admit counts a request. Its error says when the next one is allowed.
func (l *writeLimit) admit(call *wire.Call) error {
	who := writerID{device: call.Peer.DeviceID, address: call.Peer.IP}
	if who.device == "" {
		who.program = call.Peer.Client.ID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	over := func(_ writerID, w *window) bool { return now.Sub(w.began) >= writeWindow || now.Before(w.began) }
	w := l.windows[who]
	if w == nil || over(who, w) {
		maps.DeleteFunc(l.windows, over)
		w = &window{began: now}
		l.windows[who] = w
	}
	if w.n++; w.n <= writesPerWindow {
		return nil
	}
	wait := w.began.Add(writeWindow).Sub(now)
	return &protocol.Error{
		Code:      protocol.CodeUnavailable,
		Message:   fmt.Sprintf("rate limit exceeded for %s; retry after %ds", call.Method, (wait+time.Second-1)/time.Second),
		Retryable: true, RetryAfter: max(1, wait.Milliseconds()),
		Details: limitDetails{call.Method, fmt.Sprintf("%d per %ds", writesPerWindow, writeWindow/time.Second)},
	}
}

type limitDetails struct {
	Method string `json:"method"`
	Limit  string `json:"limit"`
}
