package storetest

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

func redactionKeepsTheChain(t *testing.T, s *subject) {
	withOriginal := event(`{"n":2}`)
	withOriginal.Original = json.RawMessage(`{"type":"x"}`)
	s.append(t, to("task/a", eventWithID(1, `{"n":1}`), withOriginal, event(`{"n":1}`)))
	before, head := s.all(t), s.head(t)
	if before[0].DataHash == before[2].DataHash {
		t.Error("equal payloads have equal hashes: a blanked one could be guessed")
	}

	s.redact(t, 2)
	s.redact(t, 2)
	wantIs(t, s.Redact(s.ctx, 4), eventstore.ErrNotFound)
	wantIs(t, s.Redact(s.ctx, 0), eventstore.ErrNotFound)
	s.reopen(t)

	before[1].Data, before[1].Original, before[1].Salt = nil, nil, nil
	wantEqual(t, "log after redaction", s.all(t), before)
	wantEqual(t, "head after redaction", s.head(t), head)
	s.verify(t)

	s.redact(t, 3)
	s.append(t, expecting(eventstore.Exactly(3), to("task/a", event(`{}`))))
	if n := s.verify(t); n != 4 {
		t.Errorf("chain has %d events after redacting its last and appending, want 4", n)
	}
}

func callersBuffersAreNotKept(t *testing.T, s *subject) {
	e := eventWithID(1, `{"n":1}`)
	e.Original = json.RawMessage(`{"n":2}`)
	s.append(t, to("task/a", e))
	clear(e.Data)
	clear(e.Original)
	stored := s.event(t, 1)
	if string(stored.Data) != `{"n":1}` || string(stored.Original) != `{"n":2}` {
		t.Errorf("the caller's buffers reach the log: data %q, original %q", stored.Data, stored.Original)
	}
}
