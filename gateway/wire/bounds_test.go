package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// explosive is a payload that cannot be encoded without harm.
type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("in the middle of an answer") }

func TestPanicWhileEncodingHarmsNoOther(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{methods: book{"x.explodes": func(context.Context, *wire.Call) (any, error) { return explosive{}, nil }}})
	c := g.enter(t)
	if a := c.ask("x.explodes", nil); a.OK || a.Error.Code != "UNAVAILABLE" || a.Error.Message != "internal error in x.explodes" {
		t.Errorf("%+v", a.Error)
	}
	if a := c.ask("health", nil); !a.OK {
		t.Errorf("afterwards: %+v", a.Error)
	}
	if s := g.Stats(); s.InFlight != 0 || s.Failures["UNAVAILABLE"] != 1 {
		t.Errorf("%+v", s)
	}
}

// stateless is a set of methods whose state cannot be told at first.
type stateless struct {
	book
	failing atomic.Bool
}

func (s *stateless) Snapshot(ctx context.Context) (wire.Snapshot, error) {
	if s.failing.Load() {
		panic("no state")
	}
	return s.book.Snapshot(ctx)
}

func TestPanicWhileGreetingEndsOneConnection(t *testing.T) {
	t.Parallel()
	methods := &stateless{book: book{}}
	methods.failing.Store(true)
	g := serve(t, setup{handler: methods})
	c := g.challenged(t, "")
	c.send("connect", connect())
	if code, reason := c.goodbye(); code != 1011 || reason != "internal error" {
		t.Errorf("%d %q", code, reason)
	}
	_ = c.Close()
	methods.failing.Store(false)
	g.enter(t)
	g.stop() // the one that has panicked holds nothing up
}

// A client's display name is shown to others as a plain name.
func TestNameOfAClientChangesNoGreeting(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.GreetingAge = time.Nanosecond }})
	for _, name := range []string{"@health", "@presence"} {
		g.enter(t, params{"client": params{"id": "gateway-client", "version": "1", "platform": "x", "mode": "ui", "displayName": name, "instanceId": name}})
	}
	c := g.challenged(t, "")
	var hello struct {
		Snapshot struct {
			Presence []wire.Presence
			Health   struct{ OK bool }
		}
	}
	if err := json.Unmarshal(c.ask("connect", connect()).Payload, &hello); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range hello.Snapshot.Presence {
		names[p.Host] = true
	}
	if !names["@health"] || !names["@presence"] || !hello.Snapshot.Health.OK {
		t.Errorf("%+v", hello)
	}
}

// A method that ignores the end of its context leaves its goroutine, and does not hold up the end.
func TestMethodIgnoringContextDoesNotDelayShutdown(t *testing.T) {
	t.Parallel()
	started, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	g := serve(t, setup{options: func(o *wire.Options) { o.DrainTime, o.CloseTime = 10*time.Millisecond, 10*time.Millisecond }, methods: book{
		"agent.wait": func(context.Context, *wire.Call) (any, error) {
			defer close(ended)
			close(started)
			<-release
			return nil, errors.New("too late")
		}}})
	g.enter(t).send("agent.wait", params{"runId": "r"})
	<-started
	g.stop()
	if n := g.Stats().InFlight; n != 1 {
		t.Errorf("%d requests run", n)
	}
	close(release)
	<-ended
	g.until(t, "it has ended at last", func(s wire.Stats) bool { return s.InFlight == 0 && s.Clients == 0 && s.QueuedBytes == 0 })
}

// Those who say nothing do not keep out those who do, however many they are.
func TestSilentConnectionsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	const atDoor, crowd = 8, 30
	g := serve(t, setup{options: func(o *wire.Options) { o.MaxAtDoor, o.CloseTime = atDoor, patience }})
	first := g.enter(t)
	silent := make([]*conn, crowd)
	for n := range silent {
		silent[n] = g.challenged(t, "")
	}
	if n := g.AtDoor(); n > atDoor {
		t.Errorf("%d are at the door", n)
	}
	g.enter(t)
	for n, c := range silent[:crowd-atDoor] {
		if code, reason := c.goodbye(); code != 1000 || reason != "handshake timeout" {
			t.Errorf("silent client %d: %d %q", n, code, reason)
		}
	}
	if f := silent[crowd-1].ask("connect", connect()); !f.OK {
		t.Errorf("the last one speaks: %+v", f.Error)
	}
	if f := first.ask("health", nil); !f.OK {
		t.Errorf("who is in: %+v", f.Error)
	}
}
