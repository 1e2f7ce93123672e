package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// over asks over the wire what must be answered, with a T.
func over[T any](t testing.TB, c *client.Client, method string, params any) (into T) {
	t.Helper()
	payload, err := c.Call(context.Background(), method, params)
	if err == nil {
		err = json.Unmarshal(payload, &into)
	}
	if err != nil {
		t.Fatalf("%s %v: %v", method, params, errors.Join(err, c.Err()))
	}
	return into
}

// spoken is a chat event.
type spoken struct {
	SessionKey, State string
	Message           spokenMessage
}

type spokenMessage struct{ Content []struct{ Text string } }

// ear is a client's event handler that keeps what is said.
type ear struct {
	mu    sync.Mutex
	said  map[string][]string // texts by session
	total int
	gaps  int64
	full  chan struct{} // closed when all is heard
	all   int
}

func newEar(all int) *ear {
	return &ear{said: map[string][]string{}, full: make(chan struct{}), all: all}
}

func (e *ear) hear(event client.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gaps += event.Missed
	if event.Name != "chat" {
		return
	}
	var s spoken
	if err := json.Unmarshal(event.Payload, &s); err != nil || len(s.Message.Content) == 0 {
		return
	}
	e.said[s.SessionKey] = append(e.said[s.SessionKey], s.Message.Content[0].Text)
	if e.total++; e.total == e.all {
		close(e.full)
	}
}

// Clients of both protocols that send concurrently all receive all messages in one order, the order of the
// transcripts.
func TestEveryClientHearsEverythingInOneOrder(t *testing.T) {
	t.Parallel()
	const listening, talking, each = 12, 4, 25
	b := setup(t)
	url := b.serve(t)
	ears := make([]*ear, listening)
	for i := range ears {
		ears[i] = newEar(talking * each)
		dial(t, url, client.Options{Event: ears[i].hear, MaxProtocol: 3 + i%2, Scopes: []string{"operator.read"}})
	}
	keys := []string{"agent:main:main", "agent:eden:talk"}
	one := dial(t, url, client.Options{})
	for _, key := range keys {
		over[patched](t, one, "sessions.patch", map[string]string{"key": key})
	}
	var wg sync.WaitGroup
	for i := range talking {
		c := dial(t, url, client.Options{MaxProtocol: 3 + i%2})
		wg.Go(func() {
			for n := range each {
				params := map[string]string{"sessionKey": keys[n%len(keys)], "message": fmt.Sprintf("%d says %d", i, n)}
				if _, err := c.Call(t.Context(), "chat.inject", params); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	transcripts := map[string][]string{}
	for _, key := range keys {
		h := over[struct{ Messages []spokenMessage }](t, one, "chat.history", map[string]any{"sessionKey": key, "limit": 1000})
		for _, m := range h.Messages {
			transcripts[key] = append(transcripts[key], m.Content[0].Text)
		}
	}
	for i, e := range ears {
		select {
		case <-e.full:
		case <-time.After(testscale.Patience):
			t.Fatalf("client %d has not heard everything", i)
		}
		e.mu.Lock()
		for _, key := range keys {
			if !slices.Equal(e.said[key], transcripts[key]) {
				t.Errorf("client %d heard in %s\n%q, but the transcript is\n%q", i, key, e.said[key], transcripts[key])
			}
		}
		if e.gaps != 0 {
			t.Errorf("client %d missed %d events", i, e.gaps)
		}
		e.mu.Unlock()
	}
}

// Of clients that request the same label at the same time one gets it.
func TestOneOfManyClientsGetsALabel(t *testing.T) {
	t.Parallel()
	const rivals = 16
	b := setup(t)
	url := b.serve(t)
	var mu sync.Mutex
	var winners []string
	var wg sync.WaitGroup
	for i := range rivals {
		c := dial(t, url, client.Options{})
		wg.Go(func() {
			key := fmt.Sprintf("agent:eden:rival-%d", i)
			_, err := c.Call(t.Context(), "sessions.patch", map[string]string{"key": key, "label": "the one"})
			var refused *protocol.Error
			switch {
			case err == nil:
				mu.Lock()
				winners = append(winners, key)
				mu.Unlock()
			case !errors.As(err, &refused) || !strings.Contains(refused.Message, "label already in use"):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := over[list](t, dial(t, url, client.Options{}), "sessions.list", map[string]string{"label": "the one"})
	if len(winners) != 1 || !slices.Equal(got.keys(), winners) {
		t.Errorf("%q have been told that they have it, %q have it", winners, got.keys())
	}
}

// Concurrent changes of one session from many clients do not undo each other.
func TestClientsChangeOneSessionTogether(t *testing.T) {
	t.Parallel()
	const key = "agent:eden:shared"
	b := setup(t)
	url := b.serve(t)
	settings := map[string]string{"label": "shared", "thinkingLevel": "high", "verboseLevel": "on", "reasoningLevel": "on", "sendPolicy": "deny",
		"execNode": "n1", "responseUsage": "full", "groupActivation": "always"}
	var wg sync.WaitGroup
	for name, value := range settings {
		c := dial(t, url, client.Options{})
		wg.Go(func() {
			if _, err := c.Call(t.Context(), "sessions.patch", map[string]string{"key": key, name: value}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	got := over[struct{ Entry map[string]any }](t, dial(t, url, client.Options{}), "sessions.patch", map[string]string{"key": key}).Entry
	for name, value := range settings {
		if got[name] != value {
			t.Errorf("%s is %v, want %s", name, got[name], value)
		}
	}
}
