// Package once tells a call of a tool that is made again from another call: what a call does has an event with an id that follows from the call.
package once

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/tools"
)

// Key is the same for a call and for each of its repetitions. The zero Key is of a call that nobody repeats.
type Key eventstore.Hash

// KeyOf is the key of a call of a tool. In a run it is the same if the same call of its model asks for the same, also when a restart has the run
// begin again; some models give the same id to call after call. The projection run is read.
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

// Done is the id of the first event of what the call does; zero for a call that nobody repeats.
func (k Key) Done() eventstore.ID { return k.event("done") }

// Refused is the id of the first event that tells of the call's refusal; likewise.
func (k Key) Refused() eventstore.ID { return k.event("refused") }

func (k Key) event(kind string) eventstore.ID {
	if k == (Key{}) {
		return eventstore.ID{}
	}
	return eventstore.DerivedID(0, Digest("event", kind, string(k[:])))
}

// Digest is that of a list of texts, another one for each list.
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
