package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Harness is an open store and the operations that the suite uses on it.
type Harness struct {
	Log      eventstore.Store
	Restorer eventstore.Restorer

	// Redact blanks Data, Original and Salt of one event.
	Redact func(ctx context.Context, seq int64) error

	// Close closes the store. The suite calls it at the end and may call it before, so it must tolerate a second call.
	Close func() error

	// Reopen opens what the closed store left behind. Nil: nothing survives a close, and the suite continues with the
	// open store.
	Reopen func(t testing.TB) Harness
}

// Open creates an empty store whose clock is now. It fails t on error. The suite closes the store.
type Open func(t testing.TB, now func() time.Time) Harness

// Run checks every guarantee that concerns the log on stores made by open. The subtests run in parallel.
func Run(t *testing.T, open Open) {
	for _, aspect := range []struct {
		name  string
		check func(*testing.T, *subject)
	}{
		{"Promise1_AcknowledgedSurvivesReopening", acknowledgedSurvivesReopening},
		{"Promise2_GaplessUnderConcurrentAppenders", gaplessUnderConcurrentAppenders},
		{"Promise2_RefusedAppendsLeaveNoGap", refusedAppendsLeaveNoGap},
		{"Promise2_RecordedAtNeverDecreases", recordedAtNeverDecreases},
		{"Promise3_RetryGetsTheFirstAnswer", retryGetsTheFirstAnswer},
		{"Promise3_OtherBodyIsRefused", otherBodyIsRefused},
		{"Promise3_SameIDWithinOneAppend", sameIDWithinOneAppend},
		{"Promise3_PartialRetry", partialRetry},
		{"Promise3_PartialRetryOfMany", partialRetryOfMany},
		{"Promise3_RedactedEventIsADuplicate", redactedEventIsADuplicate},
		{"Promise3_ConcurrentRetriesStoreOnce", concurrentRetriesStoreOnce},
		{"Promise4_EveryExpectation", everyExpectation},
		{"Promise4_StreamsTogetherOrNotAtAll", streamsTogetherOrNotAtAll},
		{"Promise4_GuardsAreChecked", guardsAreChecked},
		{"Promise4_StreamNamedTwice", streamNamedTwice},
		{"Promise4_OneOfManyWins", oneOfManyWins},
		{"Promise5_RedactionKeepsTheChain", redactionKeepsTheChain},
		{"Promise5_CallersBuffersAreNotKept", callersBuffersAreNotKept},
		{"Promise8_SubscriptionHasNoSeam", subscriptionHasNoSeam},
		{"Promise8_SlowSubscriberBlocksNobody", slowSubscriberBlocksNoOther},
		{"Promise8_SubscriptionEnds", subscriptionEnds},
		{"Input_BadFieldIsNamed", badFieldIsNamed},
		{"Input_LimitsAreInclusive", limitsAreInclusive},
		{"Input_PayloadIsKeptByteByByte", payloadIsKeptByteByByte},
		{"Input_TimesAndDefaults", timesAndDefaults},
		{"Read_Pages", readPages},
		{"Read_WhatIsNotThere", readWhatIsNotThere},
		{"Wait_WakesAtTheSeq", waitWakesAtTheSeq},
		{"Wait_EndsWithItsContext", waitEndsWithItsContext},
		{"Restore_GivesTheSameLog", restoreGivesTheSameLog},
		{"Restore_RefusesWhatIsUnsound", restoreRefusesWhatIsUnsound},
		{"Context_CancelledAppendIsWholeOrNothing", cancelledAppendIsWholeOrNothing},
		{"Close_EndsEverything", closeEndsEverything},
		{"Close_KeepsWhatItAcknowledged", closeKeepsWhatItAcknowledged},
	} {
		t.Run(aspect.name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open)
			aspect.check(t, s)
			if !s.closed {
				s.verify(t)
			}
		})
	}
}

// patience bounds every wait for another goroutine. Only a broken store uses it up.
const patience = 5 * time.Minute

// epoch is when every clock of the suite starts.
var epoch = time.UnixMilli(1_790_000_000_000)

// subject is the store under test in one subtest. After each subtest its chain is verified.
type subject struct {
	Harness
	ctx    context.Context // ends with the subject, or when a broken store makes it hang
	cancel context.CancelFunc
	clock  *Clock
	open   Open
	closed bool // closed by the subtest, so there is nothing left to verify
}

// newSubject opens a store for as long as t runs.
func newSubject(t testing.TB, open Open) *subject {
	t.Helper()
	s := openSubject(t, open)
	t.Cleanup(func() { s.finish(t) })
	return s
}

// openSubject opens a store that the caller must finish.
func openSubject(t testing.TB, open Open) *subject {
	t.Helper()
	clock := NewClock(epoch)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	return &subject{Harness: open(t, clock.Now), ctx: ctx, cancel: cancel, clock: clock, open: open}
}

func (s *subject) finish(t testing.TB) {
	t.Helper()
	s.cancel()
	s.close(t)
}

// reopen closes the store and continues with what it left behind.
func (s *subject) reopen(t testing.TB) {
	t.Helper()
	if s.Reopen == nil {
		return
	}
	s.close(t)
	s.Harness = s.Reopen(t)
}

func (s *subject) close(t testing.TB) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// verify fails t unless the chain is valid, and returns the number of events.
func (s *subject) verify(t testing.TB) int64 {
	t.Helper()
	n, err := VerifyChain(s.ctx, s.Log)
	if err != nil {
		t.Fatalf("VerifyChain stopped after %d events: %v", n, err)
	}
	return n
}

// append stores what must be accepted.
func (s *subject) append(t testing.TB, appends ...eventstore.StreamAppend) eventstore.Result {
	t.Helper()
	result, err := s.Log.Append(s.ctx, appends...)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	return result
}

// refuse appends what must be refused, checks that nothing was stored, and returns the error.
func (s *subject) refuse(t testing.TB, appends ...eventstore.StreamAppend) error {
	t.Helper()
	before := s.head(t)
	result, err := s.Log.Append(s.ctx, appends...)
	if err == nil {
		t.Fatalf("Append was accepted: %+v", result)
	}
	if after := s.head(t); after != before {
		t.Fatalf("head went from seq %d to %d with the error %v", before.Seq, after.Seq, err)
	}
	return err
}

func (s *subject) head(t testing.TB) eventstore.Head {
	t.Helper()
	head, err := s.Log.Head(s.ctx)
	if err != nil {
		t.Fatalf("Head: %v", err)
	}
	return head
}

// all returns the whole log in one read.
func (s *subject) all(t testing.TB) []eventstore.Event {
	t.Helper()
	events, err := s.Log.Read(s.ctx, 0, math.MaxInt32)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return events
}

func (s *subject) event(t testing.TB, seq int64) eventstore.Event {
	t.Helper()
	e, err := s.Log.Event(s.ctx, seq)
	if err != nil {
		t.Fatalf("Event(%d): %v", seq, err)
	}
	return e
}

func (s *subject) redact(t testing.TB, seq int64) {
	t.Helper()
	if err := s.Redact(s.ctx, seq); err != nil {
		t.Fatalf("Redact(%d): %v", seq, err)
	}
}

// to is an append of events to a stream without an expectation.
func to(stream string, events ...eventstore.NewEvent) eventstore.StreamAppend {
	return eventstore.StreamAppend{Stream: stream, Events: events}
}

func expecting(x eventstore.Expect, a eventstore.StreamAppend) eventstore.StreamAppend {
	a.Expect = x
	return a
}

func event(data string) eventstore.NewEvent {
	return eventstore.NewEvent{Type: "task.started", AgentID: "seum", Data: json.RawMessage(data)}
}

func eventWithID(n byte, data string) eventstore.NewEvent {
	e := event(data)
	e.ID = fixedID(n)
	return e
}

// fixedID gives a different id for each n.
func fixedID(n byte) eventstore.ID {
	return eventstore.DerivedID(epoch.UnixMilli(), eventstore.Hash{n})
}

// wantAs returns err as an E, or fails t.
func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	var target E
	if !errors.As(err, &target) {
		t.Fatalf("error is %T (%v), want %T", err, err, target)
	}
	return target
}

func wantIs(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error is %v, want %v", err, target)
	}
}

// wantEqual compares got and want; nil and empty lists are the same, nil and empty bytes are not.
func wantEqual[V any](t testing.TB, what string, got, want V) {
	t.Helper()
	if diff := cmp.Diff(want, got, equalIfEmpty[eventstore.Event](), equalIfEmpty[eventstore.Stored]()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func equalIfEmpty[E any]() cmp.Option {
	return cmp.FilterValues(func(a, b []E) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}
