package gateway

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// A panic while what was held back is told ends the telling of one update, and holds nothing back any longer.
func TestAPanicHoldsNothingBack(t *testing.T) {
	t.Parallel()
	teller := newRunNotifier()
	teller.hub = wire.New(nil, wire.Options{Now: time.Now, NewID: uuid.NewString, Logger: slog.New(slog.DiscardHandler)})
	for _, id := range []string{"first", "second"} {
		teller.await(context.Background(), "c", id).then(func(run.Result) { panic("told " + id) })
		teller.hold(id)
	}
	const session = "agent:main:main"
	ended := func(id string) {
		teller.receive(run.Update{Kind: run.Ended, RunID: id, SessionKey: session, Result: &run.Result{RunID: id, SessionKey: session, State: run.OK}})
	}
	ended("first")
	teller.receive(run.Update{Kind: run.Started, RunID: "second", SessionKey: session})
	ended("second")
	teller.receive(run.Update{Kind: run.Started, RunID: "third", SessionKey: session})
	for i, id := range []string{"first", "second"} {
		func() {
			defer func() {
				if p := recover(); p != "told "+id {
					t.Errorf("%s: panic %v", id, p)
				}
			}()
			teller.release(id)
		}()
		if n := len(teller.holds.sessions); n != 1-i {
			t.Errorf("%d sessions are held back after %s was released", n, id)
		}
	}
	if teller.runs["third"] == nil {
		t.Error("what came after the panic was not told")
	}
	ended("third")
	if len(teller.holds.sessions) != 0 || teller.runs["third"] != nil {
		t.Errorf("%d sessions are held back at the end", len(teller.holds.sessions))
	}
}
