package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// exported returns the log of a store whose events differ in everything that a restore must preserve.
func exported(t testing.TB, s *subject) []eventstore.Event {
	t.Helper()
	withOriginal := event(`{"n":2}`).WithTS(0)
	withOriginal.Original = json.RawMessage(`{"type":"task.started"}`)
	s.append(t, to("task/a", eventWithID(1, `{"n":1}`), withOriginal))
	s.clock.Move(time.Second)
	s.append(t, to("task/b", eventWithID(2, `{"n":3}`)), to("task/a", event(`{"n":4}`)))
	s.append(t, to("task/b", event(`{"n":5}`)))
	s.redact(t, 2)
	return s.all(t)
}

func restoreGivesTheSameLog(t *testing.T, s *subject) {
	log := exported(t, s)
	restored := newSubject(t, s.open)
	restored.clock.Move(-time.Hour)
	for _, part := range [][]eventstore.Event{nil, log[:2], log[2:]} {
		if err := restored.Restorer.Restore(s.ctx, part); err != nil {
			t.Fatalf("Restore of %d events: %v", len(part), err)
		}
	}
	restored.reopen(t)
	wantEqual(t, "restored log", restored.all(t), log)
	wantEqual(t, "restored head", restored.head(t), s.head(t))

	retry := restored.append(t, to("task/a", eventWithID(1, `{"n":1}`)))
	wantEqual(t, "retry", retry.Events, []eventstore.Stored{{Seq: 1, Version: 1, ID: fixedID(1), Duplicate: true}})
	next := restored.append(t, expecting(eventstore.Exactly(3), to("task/a", event(`{}`))))
	wantEqual(t, "seq of the next event", next.Events[0].Seq, int64(len(log))+1)
	if got, last := restored.event(t, next.Seq).RecordedAt, log[len(log)-1].RecordedAt; got < last {
		t.Errorf("recorded_at went from %d back to %d after the restore", last, got)
	}
	restored.verify(t)
}

func restoreRefusesWhatIsUnsound(t *testing.T, s *subject) {
	log := exported(t, s)
	for _, unsound := range []struct {
		name  string
		alter func(log []eventstore.Event) []eventstore.Event
	}{
		{"does not begin at 1", func(log []eventstore.Event) []eventstore.Event { return log[1:] }},
		{"gap", func(log []eventstore.Event) []eventstore.Event { return append(log[:2], log[3:]...) }},
		{"event twice", func(log []eventstore.Event) []eventstore.Event { return append(log[:1], log...) }},
		{"data changed", func(log []eventstore.Event) []eventstore.Event {
			log[3].Data = json.RawMessage(`{"n":7}`)
			return log
		}},
		{"original added", func(log []eventstore.Event) []eventstore.Event {
			log[3].Original = json.RawMessage(`{}`)
			return log
		}},
		{"salt changed", func(log []eventstore.Event) []eventstore.Event {
			log[3].Salt = make([]byte, eventstore.SaltBytes)
			return log
		}},
		{"data hash of a redacted event changed", func(log []eventstore.Event) []eventstore.Event {
			log[1].DataHash[0] ^= 1
			return log
		}},
		{"redacted in part", func(log []eventstore.Event) []eventstore.Event {
			log[1].Original = json.RawMessage(`{}`)
			return log
		}},
		{"agent changed", func(log []eventstore.Event) []eventstore.Event {
			log[4].AgentID = "other"
			return log
		}},
		{"hash changed", func(log []eventstore.Event) []eventstore.Event {
			log[4].Hash[0] ^= 1
			return log
		}},
		{"version does not continue", func(log []eventstore.Event) []eventstore.Event {
			log[4].Version = 7
			return rehash(log)
		}},
		{"id twice", func(log []eventstore.Event) []eventstore.Event {
			log[4].ID = log[0].ID
			return rehash(log)
		}},
		{"recorded_at goes back", func(log []eventstore.Event) []eventstore.Event {
			log[4].RecordedAt = log[0].RecordedAt
			return rehash(log)
		}},
	} {
		t.Run(unsound.name, func(t *testing.T) {
			fresh := newSubject(t, s.open)
			err := fresh.Restorer.Restore(s.ctx, unsound.alter(append([]eventstore.Event(nil), log...)))
			wantAs[*eventstore.CorruptError](t, err)
			wantEqual(t, "head after the refusal", fresh.head(t), eventstore.Head{})
			if err := fresh.Restorer.Restore(s.ctx, log); err != nil {
				t.Fatalf("Restore of the sound log after the refusal: %v", err)
			}
			wantEqual(t, "log", fresh.all(t), log)
		})
	}
	t.Run("restored already", func(t *testing.T) {
		wantAs[*eventstore.CorruptError](t, s.Restorer.Restore(s.ctx, log))
		wantEqual(t, "log", s.all(t), log)
	})
}

// rehash forges a chain around changed events: only their content can reveal the change.
func rehash(log []eventstore.Event) []eventstore.Event {
	var prev eventstore.Hash
	for i := range log {
		log[i].Hash = eventstore.ChainHash(prev, &log[i])
		prev = log[i].Hash
	}
	return log
}
