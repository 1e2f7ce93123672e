package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
)

// command is one step of a random history.
type command interface {
	// compare does the step to the store and to the model and describes how the answers differ, or returns "".
	compare(t testing.TB, s *subject, model *Model) string
}

func commands() *rapid.Generator[command] {
	return rapid.Custom(func(t *rapid.T) command {
		return rapid.OneOf(
			appends().AsAny(), appends().AsAny(), appends().AsAny(), appends().AsAny(), ticks().AsAny(),
			rapid.Just(reopening{}).AsAny(), redactions().AsAny(), looks().AsAny(),
		).Draw(t, "command").(command)
	})
}

// appending is an append, in a form that prints well.
type appending []part

type part struct {
	Stream string
	Expect eventstore.Expect
	Events []newEvent
}

type newEvent struct {
	ID   byte // which fixed id; 0: the store's choice
	Type string
	Data string
	TS   int64
	Full bool // with all optional fields
}

// appends draws appends of which about half are accepted; the others fail in every way there is.
func appends() *rapid.Generator[appending] {
	expectation := rapid.OneOf(
		rapid.Just(eventstore.Any()), rapid.Just(eventstore.Any()), rapid.Just(eventstore.Any()), rapid.Just(eventstore.Any()),
		rapid.Just(eventstore.Exists()), rapid.Just(eventstore.NoStream()),
		rapid.Map(rapid.Int64Range(0, 4), eventstore.Exactly),
	)
	event := rapid.Custom(func(t *rapid.T) newEvent {
		return newEvent{
			ID:   rapid.SampledFrom([]byte{0, 1, 2, 3, 4, 5}).Draw(t, "id"),
			Type: rapid.SampledFrom([]string{"task.started", "task.started", "task.started", "task.done"}).Draw(t, "type"),
			Data: rapid.SampledFrom([]string{`{}`, `{}`, `{}`, `{}`, `{}`, `{}`, `{}`, `{`, `{}`, `{ "말": "안녕" }`}).Draw(t, "data"),
			TS:   rapid.Int64Range(-1, 2).Draw(t, "ts"),
			Full: rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "full"),
		}
	})
	one := rapid.Custom(func(t *rapid.T) part {
		return part{
			Stream: rapid.SampledFrom([]string{"task/a", "task/b", "대화/다"}).Draw(t, "stream"),
			Expect: expectation.Draw(t, "expect"),
			Events: rapid.OneOf(rapid.SliceOfN(event, 1, 3), rapid.SliceOfN(event, 0, 0), rapid.SliceOfN(event, 1, 3)).Draw(t, "events"),
		}
	})
	return rapid.Map(rapid.SliceOfN(one, 1, 3), func(parts []part) appending { return parts })
}

func (a appending) compare(_ testing.TB, s *subject, model *Model) string {
	request := a.request()
	got, gotErr := s.Log.Append(s.ctx, request...)
	if gotErr == nil {
		adoptIDs(request, got)
	}
	want, wantErr := model.Append(s.ctx, request...)
	return sameAnswer("Append", got, gotErr, want, wantErr)
}

func (a appending) request() []eventstore.StreamAppend {
	var request []eventstore.StreamAppend
	for _, p := range a {
		r := eventstore.StreamAppend{Stream: p.Stream, Expect: p.Expect}
		for _, e := range p.Events {
			n := eventstore.NewEvent{Type: e.Type, Data: json.RawMessage(e.Data)}
			if e.ID != 0 {
				n.ID = fixedID(e.ID)
			}
			if e.Full {
				n.Ver, n.AgentID, n.CorrelationID, n.CausationID = 2, "세움", "conversation", "cause"
				n.Actor, n.Original = eventstore.ActorImport, json.RawMessage(`{"type":"x"}`)
				n = n.WithTS(e.TS)
			}
			r.Events = append(r.Events, n)
		}
		request = append(request, r)
	}
	return request
}

// adoptIDs writes the ids that the store made into the request, so that the model stores the same events.
func adoptIDs(request []eventstore.StreamAppend, result eventstore.Result) {
	stored := result.Events
	for _, r := range request {
		for i := range r.Events {
			if len(stored) == 0 {
				return
			}
			if r.Events[i].ID.IsZero() {
				r.Events[i].ID = stored[0].ID
			}
			stored = stored[1:]
		}
	}
}

// look asks every question that a reader can ask.
type look struct {
	Stream string
	After  int64
	Limit  int
	Seq    int64
	ID     byte
}

func looks() *rapid.Generator[look] {
	return rapid.Custom(func(t *rapid.T) look {
		return look{
			Stream: rapid.SampledFrom([]string{"task/a", "task/b", "대화/다", "task/none"}).Draw(t, "stream"),
			After:  rapid.Int64Range(-1, 10).Draw(t, "after"),
			Limit:  rapid.IntRange(-1, 10).Draw(t, "limit"),
			Seq:    rapid.Int64Range(-1, 10).Draw(t, "seq"),
			ID:     rapid.ByteRange(0, 7).Draw(t, "id"),
		}
	})
}

func (l look) compare(_ testing.TB, s *subject, model *Model) string {
	for _, question := range []struct {
		name string
		ask  func(eventstore.Reader) (any, error)
	}{
		{"Head", func(r eventstore.Reader) (any, error) { return r.Head(s.ctx) }},
		{"Read", func(r eventstore.Reader) (any, error) { return r.Read(s.ctx, l.After, l.Limit) }},
		{"ReadStream", func(r eventstore.Reader) (any, error) { return r.ReadStream(s.ctx, l.Stream, l.After, l.Limit) }},
		{"Event", func(r eventstore.Reader) (any, error) { return r.Event(s.ctx, l.Seq) }},
		{"EventByID", func(r eventstore.Reader) (any, error) { return r.EventByID(s.ctx, fixedID(l.ID)) }},
		{"StreamVersion", func(r eventstore.Reader) (any, error) { return r.StreamVersion(s.ctx, l.Stream) }},
		{"Wait", func(r eventstore.Reader) (any, error) { return r.Wait(s.ctx, 0) }},
	} {
		got, gotErr := question.ask(s.Log)
		want, wantErr := question.ask(model)
		if diff := sameAnswer(question.name, got, gotErr, want, wantErr); diff != "" {
			return diff
		}
	}
	return ""
}

// redaction blanks the event at a seq, which may not exist.
type redaction struct{ Seq int64 }

func redactions() *rapid.Generator[redaction] {
	return rapid.Map(rapid.Int64Range(1, 6), func(seq int64) redaction { return redaction{seq} })
}

func (r redaction) compare(_ testing.TB, s *subject, model *Model) string {
	return sameAnswer("Redact", nil, s.Redact(s.ctx, r.Seq), nil, model.Redact(s.ctx, r.Seq))
}

// tick moves the clock, also backwards.
type tick struct{ By time.Duration }

func ticks() *rapid.Generator[tick] {
	return rapid.Map(rapid.Int64Range(-5000, 5000), func(ms int64) tick { return tick{time.Duration(ms) * time.Millisecond} })
}

func (c tick) compare(_ testing.TB, s *subject, _ *Model) string {
	s.clock.Move(c.By)
	return ""
}

// reopening closes the store and opens it again. The model goes on as if nothing had happened, and so must the store.
type reopening struct{}

func (reopening) compare(t testing.TB, s *subject, _ *Model) string {
	s.reopen(t)
	return ""
}
