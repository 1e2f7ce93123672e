package storetest

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

func TestVerifyChainFindsForgery(t *testing.T) {
	t.Parallel()
	for _, forged := range []struct {
		name  string
		sound int64 // events before the forgery
		forge func(log []eventstore.Event) []eventstore.Event
	}{
		{"nothing", 4, func(log []eventstore.Event) []eventstore.Event { return log }},
		{"event removed", 1, func(log []eventstore.Event) []eventstore.Event { return append(log[:1], log[2:]...) }},
		{"numbers moved", 0, func(log []eventstore.Event) []eventstore.Event {
			for i := range log {
				log[i].Seq++
			}
			return rehash(log)
		}},
		{"data", 2, func(log []eventstore.Event) []eventstore.Event {
			log[2].Data = json.RawMessage(`{"forged":true}`)
			return log
		}},
		{"data and its hash", 2, func(log []eventstore.Event) []eventstore.Event {
			e := &log[2]
			e.Data = json.RawMessage(`{"forged":true}`)
			e.DataHash = eventstore.PayloadHash(e.Salt, e.Data, e.Original)
			return log
		}},
		{"agent", 2, func(log []eventstore.Event) []eventstore.Event {
			log[2].AgentID = "forged"
			return log
		}},
		{"redacted in part", 1, func(log []eventstore.Event) []eventstore.Event {
			log[1].Original = json.RawMessage(`{}`)
			return log
		}},
		{"salt cut off", 2, func(log []eventstore.Event) []eventstore.Event {
			e := &log[2]
			e.Salt = e.Salt[:8]
			e.DataHash = eventstore.PayloadHash(e.Salt, e.Data, e.Original)
			return rehash(log)
		}},
	} {
		t.Run(forged.name, func(t *testing.T) {
			m := newTestModel(NewClock(epoch).Now)
			if _, err := m.Append(t.Context(), to("task/a", event(`{}`), event(`{}`), event(`{}`), event(`{}`))); err != nil {
				t.Fatal(err)
			}
			if err := m.Redact(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			intact := len(m.log)
			m.log = forged.forge(m.log)
			n, err := VerifyChain(t.Context(), m)
			wantEqual(t, "sound events", n, forged.sound)
			if n == int64(intact) {
				wantIs(t, err, nil)
				return
			}
			wantAs[*eventstore.CorruptError](t, err)
		})
	}
}
