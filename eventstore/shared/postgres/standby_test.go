//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/postgres"
	"github.com/pronto-lab/openclawd/eventstore/shared/postgres/pgtest"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// patience bounds every wait. Only a broken log uses it up.
const patience = 2 * time.Minute

// openPair opens a log on whichever of two servers takes writes.
func openPair(t *testing.T, primary, standby *pgtest.Server, attempt time.Duration) *postgres.Log {
	t.Helper()
	url := strings.Replace(primary.URL(primary.Address+","+standby.Address), "?", "?target_session_attrs=read-write&", 1)
	log, err := postgres.Open(t.Context(), postgres.Options{URL: url, Name: "team", Attempt: attempt})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// next is a record behind a head that no other is equal to.
func next(head shared.Head, mark string) shared.Record {
	return shared.Following(head, sharedtest.Events(head, 2, 50, mark), nil)
}

// What was acknowledged before the primary was killed is on the standby that replaces it, and the writer goes on there.
func TestFailoverToASynchronousStandbyLosesNothing(t *testing.T) {
	t.Parallel()
	for range testscale.Of(1, 5) {
		primary, standby := pgtest.Pair(t)
		if primary == nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		log := openPair(t, primary, standby, 500*time.Millisecond)
		var acknowledged []shared.Record
		reached, failedOver := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(failedOver)
			<-reached
			primary.Kill()
			standby.Promote(t)
		}()
		var head shared.Head
		for after := 0; after < 50; {
			r := next(head, "event")
			err := log.Append(ctx, r)
			switch {
			case err == nil:
				head = r.Head()
				acknowledged = append(acknowledged, r)
			case errors.As(err, new(*shared.UncertainError)), errors.As(err, new(*shared.UnavailableError)):
				continue
			default:
				t.Fatalf("record %d: %v", r.Number, err)
			}
			if len(acknowledged) == 200 {
				close(reached)
			}
			select {
			case <-failedOver:
				after++
			default:
			}
		}
		stored, err := log.Read(ctx, 0, len(acknowledged)+1)
		if err != nil || len(stored) != len(acknowledged) {
			t.Fatalf("%d records, want the %d that were acknowledged: %v", len(stored), len(acknowledged), err)
		}
		for i := range stored {
			if !stored[i].Is(&acknowledged[i]) {
				t.Fatalf("record %d is another one", i+1)
			}
		}
		_ = log.Close()
		standby.Kill()
	}
}

// A record that the standby does not have is not acknowledged, although the primary shows it.
func TestARecordWithoutStandbyIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	primary, standby := pgtest.Pair(t)
	if primary == nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	log := openPair(t, primary, standby, 300*time.Millisecond)
	first := next(shared.Head{}, "first")
	if err := log.Append(ctx, first); err != nil {
		t.Fatal(err)
	}
	standby.Kill()
	brief, end := context.WithTimeout(ctx, 3*time.Second)
	defer end()
	alone := next(first.Head(), "alone")
	err := log.Append(brief, alone)
	if !errors.As(err, new(*shared.UncertainError)) {
		t.Fatalf("a record that only the primary has: %v", err)
	}
	if found, err := log.Read(ctx, 1, 1); err != nil || len(found) != 1 {
		t.Fatalf("the primary does not show it, so nothing was tested: %d, %v", len(found), err)
	}
	standby.Begin(t)
	if err := log.Append(ctx, alone); err != nil {
		t.Errorf("the same record when the standby is back: %v", err)
	}
	primary.Kill()
	standby.Promote(t)
	found, err := log.Read(ctx, 0, 10)
	for err != nil && ctx.Err() == nil { // connections to the primary end one by one
		found, err = log.Read(ctx, 0, 10)
	}
	if len(found) != 2 || !found[1].Is(&alone) {
		t.Errorf("%d records on the standby, %v", len(found), err)
	}
}
