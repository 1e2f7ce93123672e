package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// attempts are how often a race between two things is tried.
var attempts = testscale.Of(20, 100)

// manyClients connect at once.
var manyClients = testscale.Of(300, 2_000)

// counted is a payload that knows how often it has been encoded.
type counted struct{ times *atomic.Int64 }

func (c counted) MarshalJSON() ([]byte, error) {
	c.times.Add(1)
	return []byte(`{"x":1}`), nil
}

func TestEventsAreNumberedAndEncodedOnceForAll(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	g.Broadcast(wire.Event{Name: "chat"}) // without clients, but numbered
	clients := []*conn{g.enter(t), g.enter(t, params{"scopes": nil}), g.enter(t, params{"minProtocol": 3, "maxProtocol": 3})}
	var times atomic.Int64
	g.Broadcast(wire.Event{Name: "agent", Payload: counted{&times}})
	g.Broadcast(wire.Event{Name: "chat", Payload: json.RawMessage(`{"y":"<&>"}`)})
	g.Broadcast(wire.Event{Name: "empty"})
	for n, c := range clients {
		for at, want := range []string{`agent {"x":1}`, `chat {"y":"<&>"}`, `empty `} {
			f := c.read()
			if got := f.Event + " " + string(f.Payload); got != want || f.Seq == nil || *f.Seq != int64(at+2) || f.State != nil {
				t.Errorf("client %d: %+v instead of %s", n, f, want)
			}
		}
	}
	if times.Load() != 1 {
		t.Errorf("encoded %d times", times.Load())
	}
	g.Broadcast(wire.Event{Name: "broken", Payload: make(chan int)})
	g.Broadcast(wire.Event{Name: "health", Payload: health, State: true})
	g.Broadcast(wire.Event{Name: "health", Payload: health, State: true})
	first, second := clients[0].read(), clients[0].read()
	if *first.Seq != 5 || first.State == nil || second.State == nil || second.State.Health != first.State.Health+1 || second.State.Presence < 1 {
		t.Errorf("%+v %+v", first, second)
	}
}

// Events for some clients are numbered for all, so that no client sees a gap.
func TestWithheldEventsConsumeANumber(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	admin, reader := g.enter(t), g.enter(t, params{"scopes": []string{protocol.ScopeRead}})
	pairing := g.enter(t, params{"scopes": []string{protocol.ScopePairing}})
	g.Broadcast(wire.Event{Name: "device.pair.requested", Scope: protocol.ScopePairing})
	g.Broadcast(wire.Event{Name: "chat"})
	for c, want := range map[*conn]int64{admin: 1, pairing: 1, reader: 2} {
		if f := c.read(); f.Seq == nil || *f.Seq != want {
			t.Errorf("%+v instead of event %d", f, want)
		}
	}
}

func TestSentEventsHaveNoNumber(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{methods: book{"x.me": func(_ context.Context, call *wire.Call) (any, error) { return call.Peer.ConnID, nil }}})
	one, other := g.enter(t), g.enter(t)
	var id string
	if err := json.Unmarshal(one.ask("x.me", nil).Payload, &id); err != nil {
		t.Fatal(err)
	}
	g.Send(wire.Event{Name: "agent", Payload: params{"stream": "tool"}}, id, "gone")
	g.Broadcast(wire.Event{Name: "chat"})
	if f := one.read(); f.Event != "agent" || f.Seq != nil || string(f.Payload) != `{"stream":"tool"}` {
		t.Errorf("%+v", f)
	}
	for _, c := range []*conn{one, other} {
		if f := c.read(); f.Event != "chat" || *f.Seq != 1 {
			t.Errorf("%+v", f)
		}
	}
}

// No event is sent before hello-ok, and none after it is lost.
func TestEventsBeginAfterTheGreeting(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				g.Broadcast(wire.Event{Name: "chat"})
				g.until(t, "it has been told", func(s wire.Stats) bool { return s.QueuedBytes == 0 })
			}
		}
	})
	for range attempts {
		c := g.challenged(t, "")
		c.send("connect", connect())
		if f := c.read(); f.Type != "res" || !f.OK {
			t.Errorf("%+v before the greeting", f)
		}
		first := c.read()
		if second := c.read(); *second.Seq != *first.Seq+1 {
			t.Errorf("%d after %d", *second.Seq, *first.Seq)
		}
		_ = c.Close()
	}
	close(done)
	telling.Wait()
}

// Of 200 clients each tenth never reads. That costs no one anything: telling returns, the others get everything in its order, and what waits
// for the stalled ones stays bounded until they are closed.
//
// Promise: slow-clients
func TestStalledClientsBlockNoOther(t *testing.T) {
	t.Parallel()
	const clients, stalledEvery, frames, size = 200, 10, 64, 128 << 10
	slow := make(chan struct{}, clients)
	g := serve(t, setup{narrow: true, options: func(o *wire.Options) {
		o.QueueFrames, o.QueueBytes = frames, size
		o.Slow = func() { slow <- struct{}{} }
	}})
	note := json.RawMessage(`{"note":"` + strings.Repeat("x", 16<<10) + `"}`)
	var got [clients]atomic.Int64
	var reading sync.WaitGroup
	var stalled []*conn
	for n := range clients {
		c := g.enter(t, commandLine)
		if n%stalledEvery == 0 {
			stalled = append(stalled, c)
			continue
		}
		reading.Go(func() {
			for {
				_, text, err := c.ReadMessage()
				if err != nil {
					return
				}
				if next := got[n].Load() + 1; !bytes.HasSuffix(text, fmt.Appendf(nil, `,"seq":%d}`, next)) {
					t.Errorf("client %d got %s instead of event %d", n, text[max(0, len(text)-20):], next)
				}
				got[n].Add(1)
			}
		})
	}
	told, waiting := int64(0), len(stalled)
	for waiting > 0 {
		g.Broadcast(wire.Event{Name: "chat", Payload: note})
		if told++; told > 2_000 {
			t.Fatalf("%d of the stalled clients are still there: %+v", waiting, g.Stats())
		}
		g.until(t, "the healthy clients have it", func(wire.Stats) bool {
			for n := range clients {
				if n%stalledEvery != 0 && got[n].Load() < told {
					return false
				}
			}
			return true
		})
		for len(slow) > 0 {
			<-slow
			waiting--
		}
	}
	s := g.Stats()
	if s.Slow != int64(len(stalled)) || s.MostQueued > size || s.MostQueuedFor > frames || s.Events != told || s.Peers > clients {
		t.Errorf("%+v", s)
	}
	for _, c := range stalled {
		if code, reason := c.goodbye(); code != websocket.ClosePolicyViolation || reason != "slow consumer" {
			t.Errorf("closed with %d %q", code, reason)
		}
	}
	g.until(t, "they have left", func(s wire.Stats) bool { return s.Peers == clients-len(stalled) && s.QueuedBytes == 0 })
	g.stop()
	reading.Wait()
}

// Skippable events are skipped for a slow client before it has to be closed.
func TestDroppableEventsAreSkipped(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{narrow: true, options: func(o *wire.Options) { o.QueueFrames, o.QueueBytes = 64, 256<<10 }})
	c := g.enter(t)
	delta := json.RawMessage(`{"note":"` + strings.Repeat("x", 8<<10) + `"}`)
	for told := 0; g.Stats().Skipped < 10; told++ {
		if told > 2_000 {
			t.Fatalf("nothing was skipped: %+v", g.Stats())
		}
		g.Broadcast(wire.Event{Name: "chat", Payload: delta, Droppable: true})
	}
	g.Broadcast(wire.Event{Name: "final"})
	if f := c.event("final"); *f.Seq != g.Stats().Events {
		t.Errorf("%+v", f)
	}
	if s := g.Stats(); s.Slow != 0 || s.MostQueued > 128<<10+200 {
		t.Errorf("%+v", s)
	}
}

// Ticks come all the time, the state of health only when it is news.
func TestTicksAndHealthAreTold(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.TickInterval, o.HealthEvery = 100*time.Millisecond, 5*time.Millisecond }})
	c := g.enter(t)
	for ticks, states := 0, 0; ticks < 2; {
		f := c.read()
		switch f.Event {
		case "tick":
			ticks++
			var payload map[string]int64
			if err := json.Unmarshal(f.Payload, &payload); err != nil || len(payload) != 1 || payload["ts"] != g.clock.now().UnixMilli() || f.Seq == nil {
				t.Errorf("%+v %v", f, err)
			}
		case "health":
			if states++; states > 1 || string(f.Payload) != string(health) || f.State == nil || f.State.Health == 0 {
				t.Errorf("%d: %+v", states, f)
			}
		default:
			t.Errorf("%+v", f)
		}
	}
}

// A connection whose other end is gone looks like one that is quiet, until it is asked.
func TestHalfOpenConnectionsAreCut(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	quiet := g.enter(t) // reads, and so answers pings; asks nothing
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			if _, err := quiet.tryRead(); err != nil {
				return
			}
		}
	})
	for range 3 {
		g.enter(t) // does not read, and so answers no ping
	}
	for range 2 {
		g.Beat()
		g.until(t, "the quiet one has answered", func(wire.Stats) bool { return g.Unheard() == 3 })
	}
	g.Beat()
	g.until(t, "the dead ones are gone", func(s wire.Stats) bool { return s.Silent == 3 && s.Clients == 1 })
	g.stop()
	reading.Wait()
}

// A client that is not read cannot be heard: it is not cut off for that.
func TestHeldBackClientsAreNotCut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	g := serve(t, setup{options: func(o *wire.Options) { o.MaxInFlight = 1 }, methods: book{
		"agent.wait": func(context.Context, *wire.Call) (any, error) {
			<-release
			return params{"status": "ok"}, nil
		}}})
	c := g.enter(t)
	first, second := c.send("agent.wait", params{"runId": "r"}), c.send("health", nil)
	g.until(t, "it is held back", func(wire.Stats) bool { return g.HeldBack() == 1 })
	for range 5 {
		g.Beat()
	}
	close(release)
	for _, id := range []string{first, second} {
		if f := c.answer(id); !f.OK {
			t.Errorf("%+v", f.Error)
		}
	}
	if s := g.Stats(); s.Silent != 0 {
		t.Errorf("%+v", s)
	}
}

func TestManyClientsConnect(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	clients := make([]*conn, manyClients)
	var connecting sync.WaitGroup
	for from := range 16 {
		connecting.Go(func() {
			for n := from; n < manyClients; n += 16 {
				clients[n] = g.enter(t, commandLine)
			}
		})
	}
	connecting.Wait()
	if s := g.Stats(); s.Peers != manyClients || s.Greeted != int64(manyClients) {
		t.Fatalf("%+v", s)
	}
	g.Broadcast(wire.Event{Name: "chat", Payload: params{"n": 1}})
	for n, c := range clients {
		if f := c.read(); f.Event != "chat" || *f.Seq != 1 {
			t.Fatalf("client %d: %+v", n, f)
		}
		if a := c.ask("health", nil); !a.OK {
			t.Fatalf("client %d: %+v", n, a.Error)
		}
		_ = c.Close()
	}
	g.until(t, "all have left", func(s wire.Stats) bool { return s.Clients == 0 && s.Peers == 0 && s.QueuedBytes == 0 })
}

func TestSilentBeforeTheHandshakeHearsNothing(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	c := g.challenged(t, "")
	g.Broadcast(wire.Event{Name: "chat"})
	c.send("connect", connect())
	if f := c.read(); f.Type != "res" {
		t.Errorf("told %s before it was let in", fmt.Sprint(f))
	}
}
