// Package once recognizes repeated tool calls: the effect of a call is an event whose id follows from the call.
package once

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/tools"
)

// Key is the same for a call and its repetitions. The zero Key belongs to a call that is never repeated.
type Key eventstore.Hash

// KeyOf returns the key of a tool call. In a run it depends on the model's call id and the arguments, since some models reuse ids, and
// survives a repetition of the run after a restart. It reads the projection runs.
func KeyOf(tx eventstore.Tx, call *tools.Call, tool string) (Key, error) {
	if call.CallID == "" {
		return Key{}, nil
	}
	root := ""
	if call.RunID != "" {
		one, _, err := runs.Load(tx, call.RunID)
		if err != nil {
			return Key{}, err
		}
		root = run.RootOf(call.RunID, one.RetryOf)
	}
	return Key(Digest("call", call.AgentID, call.SessionKey, root, call.CallID, tool, string(call.Args))), nil
}

// Done returns the id of the first event of the call's effect; zero for a call that is never repeated.
func (k Key) Done() eventstore.ID { return k.event("done") }

// Refused returns the id of the first event of the call's refusal; likewise.
func (k Key) Refused() eventstore.ID { return k.event("refused") }

func (k Key) event(kind string) eventstore.ID {
	if k == (Key{}) {
		return eventstore.ID{}
	}
	return eventstore.DerivedID(0, Digest("event", kind, string(k[:])))
}

const selectSubject = `SELECT json_extract(e.data, ?), s.name FROM events e JOIN streams s ON s.id = e.stream_id WHERE e.id = ?`

// Subject is what an event is about, if there is such an event: its field, e.g. "taskId", or the name of its stream
// behind the slash if the event is redacted. No event has the zero id.
func Subject(tx eventstore.Tx, id eventstore.ID, field string) (subject string, found bool, err error) {
	if id.IsZero() {
		return "", false, nil
	}
	err = tx.Query(selectSubject, []any{"$." + field, id[:]}, func(row eventstore.Row) error {
		if subject, found = row.Text(0), true; subject == "" {
			_, subject, _ = strings.Cut(row.Text(1), "/")
		}
		return nil
	})
	return subject, found, err
}

// Digest hashes a list of texts unambiguously.
func Digest(of ...string) (sum eventstore.Hash) {
	h := sha256.New()
	var length [8]byte
	for _, part := range of {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	h.Sum(sum[:0])
	return sum
}
