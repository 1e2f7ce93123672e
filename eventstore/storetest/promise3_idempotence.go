package storetest

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

func retryGetsTheFirstAnswer(t *testing.T, s *subject) {
	request := []eventstore.StreamAppend{
		expecting(eventstore.NoStream(), to("task/a", eventWithID(1, `{"n":1}`), eventWithID(2, `{"n":2}`))),
		expecting(eventstore.NoStream(), to("task/b", eventWithID(3, `{"n":3}`))),
	}
	first := s.append(t, request...)
	s.append(t, to("task/a", event(`{}`)))
	log := s.all(t)

	want := eventstore.Result{Seq: 4}
	for _, stored := range first.Events {
		stored.Duplicate = true
		want.Events = append(want.Events, stored)
	}
	wantEqual(t, "retry", s.append(t, request...), want)
	s.reopen(t)
	wantEqual(t, "retry after reopening", s.append(t, request...), want)

	moved := eventWithID(1, `{"n":1}`).WithTS(7)
	moved.AgentID, moved.Ver, moved.CorrelationID = "other", 9, "other"
	elsewhere := s.append(t, expecting(eventstore.Exactly(99), to("task/elsewhere", moved)))
	wantEqual(t, "the same body on another stream", elsewhere.Events, want.Events[:1])

	wantEqual(t, "log", s.all(t), log)
}

func otherBodyIsRefused(t *testing.T, s *subject) {
	stored := eventWithID(1, `{"n":1}`)
	stored.Original = json.RawMessage(`{"type":"task.started"}`)
	plain := eventWithID(2, `{"n":2}`)
	s.append(t, to("task/a", stored, plain))
	s.reopen(t)

	for _, other := range []struct {
		name  string
		event eventstore.NewEvent
		seq   int64
		alter func(*eventstore.NewEvent)
	}{
		{"other type", stored, 1, func(e *eventstore.NewEvent) { e.Type = "task.done" }},
		{"other data", stored, 1, func(e *eventstore.NewEvent) { e.Data = json.RawMessage(`{"n":7}`) }},
		{"equal data in other bytes", stored, 1, func(e *eventstore.NewEvent) { e.Data = json.RawMessage(`{"n": 1}`) }},
		{"other original", stored, 1, func(e *eventstore.NewEvent) { e.Original = json.RawMessage(`{}`) }},
		{"no original", stored, 1, func(e *eventstore.NewEvent) { e.Original = nil }},
		{"an original", plain, 2, func(e *eventstore.NewEvent) { e.Original = json.RawMessage(`{}`) }},
	} {
		t.Run(other.name, func(t *testing.T) {
			other.alter(&other.event)
			err := s.refuse(t, to("task/new", event(`{}`)), expecting(eventstore.Exactly(99), to("task/a", other.event)))
			got := wantAs[*eventstore.IDReuseError](t, err)
			wantEqual(t, "error", *got, eventstore.IDReuseError{ID: other.event.ID, Seq: other.seq})
		})
	}
}

func sameIDWithinOneAppend(t *testing.T, s *subject) {
	result := s.append(t,
		to("task/a", eventWithID(1, `{"n":1}`), eventWithID(1, `{"n":1}`)),
		to("task/b", eventWithID(1, `{"n":1}`), event(`{}`)))
	duplicate := eventstore.Stored{Seq: 1, Version: 1, ID: fixedID(1), Duplicate: true}
	wantEqual(t, "events", result.Events, []eventstore.Stored{
		{Seq: 1, Version: 1, ID: fixedID(1)}, duplicate, duplicate, {Seq: 2, Version: 1, ID: result.Events[3].ID},
	})

	for name, alter := range map[string]func(*eventstore.NewEvent){
		"other type":  func(e *eventstore.NewEvent) { e.Type = "task.done" },
		"other data":  func(e *eventstore.NewEvent) { e.Data = json.RawMessage(`{"n":3}`) },
		"an original": func(e *eventstore.NewEvent) { e.Original = json.RawMessage(`{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			other := eventWithID(2, `{"n":2}`)
			alter(&other)
			err := s.refuse(t, to("task/a", eventWithID(2, `{"n":2}`)), to("task/b", other))
			wantEqual(t, "error", *wantAs[*eventstore.IDReuseError](t, err), eventstore.IDReuseError{ID: fixedID(2)})
		})
	}
}

func partialRetry(t *testing.T, s *subject) {
	s.append(t, to("task/a", eventWithID(1, `{"n":1}`)))
	request := to("task/a", eventWithID(1, `{"n":1}`), eventWithID(2, `{"n":2}`))

	conflict := wantAs[*eventstore.ConflictError](t, s.refuse(t, expecting(eventstore.NoStream(), request)))
	wantEqual(t, "version in conflict", conflict.Actual, 1)

	result := s.append(t, expecting(eventstore.Exactly(1), request))
	wantEqual(t, "result", result, eventstore.Result{Seq: 2, Events: []eventstore.Stored{
		{Seq: 1, Version: 1, ID: fixedID(1), Duplicate: true}, {Seq: 2, Version: 2, ID: fixedID(2)},
	}})
}

func partialRetryOfMany(t *testing.T, s *subject) {
	id := func(n byte) eventstore.ID { return eventstore.DerivedID(epoch.UnixMilli(), eventstore.Hash{1, n}) }
	events := func(from, until byte) (list []eventstore.NewEvent) {
		for n := from; n < until; n++ {
			e := event(`{}`)
			e.ID = id(n)
			list = append(list, e)
		}
		return list
	}
	s.append(t, to("task/a", events(70, 75)...), to("task/b", events(170, 172)...))
	result := s.append(t, to("task/a", append(events(1, 200), events(30, 32)...)...))
	for i, stored := range result.Events[:199] {
		n := byte(i + 1)
		if want := n >= 70 && n < 75 || n >= 170 && n < 172; stored.Duplicate != want || stored.ID != id(n) {
			t.Errorf("event %d: %+v, want duplicate %v", n, stored, want)
		}
	}
	for i, stored := range result.Events[199:] {
		first := result.Events[29+i]
		first.Duplicate = true
		wantEqual(t, "again", stored, first)
	}
	wantEqual(t, "head", result.Seq, 199)
}

func redactedEventIsADuplicate(t *testing.T, s *subject) {
	s.append(t, to("task/a", eventWithID(1, `{"n":1}`)))
	s.redact(t, 1)
	s.reopen(t)
	want := []eventstore.Stored{{Seq: 1, Version: 1, ID: fixedID(1), Duplicate: true}}
	wantEqual(t, "the body that it had", s.append(t, to("task/a", eventWithID(1, `{"n":1}`))).Events, want)
	wantEqual(t, "another body", s.append(t, to("task/a", eventWithID(1, `{"n":2}`))).Events, want)
	if !new(s.event(t, 1)).Redacted() {
		t.Error("a retry restored the redacted payload")
	}
}

func concurrentRetriesStoreOnce(t *testing.T, s *subject) {
	const callers = 8
	results := make(chan eventstore.Result, callers)
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			result, err := s.Log.Append(s.ctx, expecting(eventstore.NoStream(), to("task/a", eventWithID(1, `{}`), eventWithID(2, `{}`))))
			if err != nil {
				t.Errorf("Append: %v", err)
				return
			}
			results <- result
		})
	}
	calling.Wait()
	close(results)
	stored := 0
	for result := range results {
		if !result.Events[0].Duplicate {
			stored++
		}
		for i, e := range result.Events {
			wantEqual(t, "event", e, eventstore.Stored{Seq: int64(i) + 1, Version: int64(i) + 1, ID: fixedID(byte(i) + 1),
				Duplicate: result.Events[0].Duplicate})
		}
	}
	if stored != 1 || s.head(t).Seq != 2 {
		t.Errorf("%d callers stored the events, head is at seq %d; want 1, 2", stored, s.head(t).Seq)
	}
}
