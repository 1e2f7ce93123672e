package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

func gaplessUnderConcurrentAppenders(t *testing.T, s *subject) {
	const appenders, appends, readers = 6, 15, 2
	results := make(chan eventstore.Result, appenders*appends)
	var writing, reading sync.WaitGroup
	for a := range appenders {
		writing.Go(func() {
			for i := range appends {
				own := event(fmt.Sprintf(`{"appender":%d,"i":%d}`, a, i))
				result, err := s.Log.Append(s.ctx, to(fmt.Sprintf("own/%d", a), own), to("shared", event(`{}`), event(`{}`)))
				if err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				results <- result
			}
		})
	}
	written := make(chan struct{})
	for range readers {
		reading.Go(func() { readEverythingBeforeHead(t, s, written) })
	}
	writing.Wait()
	close(written)
	reading.Wait()
	close(results)

	const total = appenders * appends * 3
	if n := s.verify(t); n != total {
		t.Fatalf("log has %d events, want %d", n, total)
	}
	log := s.all(t)
	for result := range results {
		for i, stored := range result.Events {
			if want := result.Events[0].Seq + int64(i); stored.Seq != want {
				t.Errorf("event %d of an append has seq %d, want %d: its events must be adjacent", i, stored.Seq, want)
			}
			if e := log[stored.Seq-1]; e.ID != stored.ID || e.Version != stored.Version || stored.Duplicate {
				t.Errorf("acknowledged %+v, but the log has id %s at version %d", stored, e.ID, e.Version)
			}
		}
		if last := result.Events[len(result.Events)-1].Seq; result.Seq < last {
			t.Errorf("Result.Seq is %d, below its own event %d", result.Seq, last)
		}
	}
	wantGaplessStreams(t, log)
}

// readEverythingBeforeHead polls the head and checks that everything up to it can be read.
func readEverythingBeforeHead(t *testing.T, s *subject, written <-chan struct{}) {
	var seen chain
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		head, err := s.Log.Head(s.ctx)
		if err != nil {
			t.Errorf("Head: %v", err)
			return
		}
		for seen.last.Seq < head.Seq {
			events, err := s.Log.Read(s.ctx, seen.last.Seq, int(head.Seq-seen.last.Seq))
			if err != nil {
				t.Errorf("Read: %v", err)
				return
			}
			if len(events) == 0 {
				t.Errorf("head is at seq %d, but there is no event after %d", head.Seq, seen.last.Seq)
				return
			}
			for i := range events {
				if err := seen.next(&events[i]); err != nil {
					t.Error(err)
					return
				}
			}
		}
		if seen.last != head {
			t.Errorf("head is %+v, the event read there %+v", head, seen.last)
			return
		}
	}
}

func wantGaplessStreams(t *testing.T, log []eventstore.Event) {
	t.Helper()
	versions := map[string]int64{}
	for _, e := range log {
		versions[e.Stream]++
		if e.Version != versions[e.Stream] {
			t.Errorf("seq %d: version %d of stream %s, want %d", e.Seq, e.Version, e.Stream, versions[e.Stream])
		}
	}
}

func refusedAppendsLeaveNoGap(t *testing.T, s *subject) {
	s.append(t, to("task/a", eventWithID(1, `{}`)))

	s.refuse(t, to("task/a", event(`{}`)), expecting(eventstore.NoStream(), to("task/a", event(`{}`))))
	s.refuse(t, to("task/a", event(`{}`), event(`[]`)))
	s.refuse(t, to("task/a", event(`{}`), eventWithID(1, `{"other":true}`)))
	s.append(t, to("task/a", eventWithID(1, `{}`)))

	if got := s.append(t, to("task/a", event(`{}`))).Events[0]; got.Seq != 2 || got.Version != 2 {
		t.Errorf("append after refusals went to seq %d, version %d; want 2, 2", got.Seq, got.Version)
	}
}

func recordedAtNeverDecreases(t *testing.T, s *subject) {
	start := s.clock.Now().UnixMilli()
	for _, move := range []time.Duration{0, time.Second, -time.Hour, time.Minute, 2 * time.Hour} {
		s.clock.Move(move)
		s.append(t, to("task/a", event(`{}`)))
	}
	var recorded, happened []int64
	for _, e := range s.all(t) {
		recorded, happened = append(recorded, e.RecordedAt-start), append(happened, e.TS-start)
	}
	want := []int64{0, 1_000, 1_000, 1_000, 3_661_000}
	wantEqual(t, "recorded_at since the start", recorded, want)
	wantEqual(t, "ts of events without a time", happened, want)

	s.append(t, to("task/a", eventstore.NewEvent{Type: "old", Data: json.RawMessage(`{}`), TS: 1}))
	if e := s.event(t, 6); e.TS != 1 || e.RecordedAt != start+3_661_000 {
		t.Errorf("event of long ago has ts %d, recorded_at %d; want 1, %d", e.TS, e.RecordedAt, start+3_661_000)
	}
}
