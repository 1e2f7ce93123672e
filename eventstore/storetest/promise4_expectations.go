package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

func everyExpectation(t *testing.T, s *subject) {
	for i, c := range []struct {
		expect  eventstore.Expect
		version int
		holds   bool
	}{
		{eventstore.Any(), 0, true},
		{eventstore.Any(), 2, true},
		{eventstore.NoStream(), 0, true},
		{eventstore.NoStream(), 2, false},
		{eventstore.Exists(), 0, false},
		{eventstore.Exists(), 2, true},
		{eventstore.Exactly(0), 0, true},
		{eventstore.Exactly(0), 2, false},
		{eventstore.Exactly(1), 0, false},
		{eventstore.Exactly(1), 2, false},
		{eventstore.Exactly(2), 2, true},
		{eventstore.Exactly(3), 2, false},
		{eventstore.Exactly(-1), 0, false},
	} {
		t.Run(fmt.Sprintf("%s at version %d", c.expect, c.version), func(t *testing.T) {
			stream := fmt.Sprintf("task/%d", i)
			for range c.version {
				s.append(t, to(stream, event(`{}`)))
			}
			request := expecting(c.expect, to(stream, event(`{}`)))
			if c.holds {
				wantEqual(t, "version", s.append(t, request).Events[0].Version, int64(c.version)+1)
				return
			}
			wantConflict(t, s.refuse(t, request), eventstore.ConflictError{Stream: stream, Expected: c.expect, Actual: int64(c.version)})
		})
	}
}

func wantConflict(t *testing.T, err error, want eventstore.ConflictError) {
	t.Helper()
	if got := *wantAs[*eventstore.ConflictError](t, err); got != want {
		t.Fatalf("conflict is %+v, want %+v", got, want)
	}
}

func streamsTogetherOrNotAtAll(t *testing.T, s *subject) {
	s.append(t, to("task/b", event(`{}`)))
	request := func(b eventstore.Expect) []eventstore.StreamAppend {
		return []eventstore.StreamAppend{
			expecting(eventstore.NoStream(), to("task/a", event(`{}`), event(`{}`))),
			expecting(b, to("task/b", event(`{}`))),
			expecting(eventstore.Any(), to("task/c", event(`{}`))),
		}
	}

	err := s.refuse(t, request(eventstore.Exactly(2))...)
	wantConflict(t, err, eventstore.ConflictError{Stream: "task/b", Expected: eventstore.Exactly(2), Actual: 1})
	for stream, want := range map[string]int64{"task/a": 0, "task/b": 1, "task/c": 0} {
		s.wantVersion(t, stream, want)
	}

	s.append(t, request(eventstore.Exactly(1))...)
	for stream, want := range map[string]int64{"task/a": 2, "task/b": 2, "task/c": 1} {
		s.wantVersion(t, stream, want)
	}
}

func (s *subject) wantVersion(t *testing.T, stream string, want int64) {
	t.Helper()
	got, err := s.Log.StreamVersion(s.ctx, stream)
	if err != nil || got != want {
		t.Fatalf("StreamVersion(%s) = %d, %v; want %d", stream, got, err, want)
	}
}

func guardsAreChecked(t *testing.T, s *subject) {
	wantEqual(t, "empty append on an empty log", s.append(t), eventstore.Result{})
	s.append(t, to("task/a", event(`{}`)))
	holding := expecting(eventstore.Exactly(1), to("task/a"))
	failing := expecting(eventstore.NoStream(), to("task/a"))
	conflict := eventstore.ConflictError{Stream: "task/a", Expected: eventstore.NoStream(), Actual: 1}

	s.append(t, holding, to("task/b", event(`{}`)))
	wantConflict(t, s.refuse(t, failing, to("task/b", event(`{}`))), conflict)
	wantConflict(t, s.refuse(t, to("task/b", event(`{}`)), failing), conflict)

	wantEqual(t, "guards alone", s.append(t, holding, expecting(eventstore.NoStream(), to("task/none"))), eventstore.Result{Seq: 2})
	wantConflict(t, s.refuse(t, holding, failing), conflict)
	s.wantVersion(t, "task/none", 0)
}

func streamNamedTwice(t *testing.T, s *subject) {
	first := expecting(eventstore.NoStream(), to("task/a", event(`{}`), event(`{}`)))

	err := s.refuse(t, first, expecting(eventstore.NoStream(), to("task/a", event(`{}`))))
	wantConflict(t, err, eventstore.ConflictError{Stream: "task/a", Expected: eventstore.NoStream(), Actual: 2})

	result := s.append(t, first, expecting(eventstore.Exactly(2), to("task/a", event(`{}`))), expecting(eventstore.Exactly(3), to("task/a")))
	wantEqual(t, "version of the last event", result.Events[2].Version, 3)
}

func oneOfManyWins(t *testing.T, s *subject) {
	const callers = 8
	errs := make(chan error, callers)
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			_, err := s.Log.Append(s.ctx, expecting(eventstore.NoStream(), to("task/a", event(`{}`))))
			errs <- err
		})
	}
	calling.Wait()
	close(errs)
	winners := 0
	for err := range errs {
		var conflict *eventstore.ConflictError
		switch {
		case err == nil:
			winners++
		case !errors.As(err, &conflict) || conflict.Actual != 1:
			t.Errorf("loser got %v, want a conflict at version 1", err)
		}
	}
	if winners != 1 || s.head(t).Seq != 1 {
		t.Errorf("%d of %d won, head is at seq %d; want 1 of %d, 1", winners, callers, s.head(t).Seq, callers)
	}
}
