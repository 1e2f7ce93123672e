package task

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	runs "github.com/pronto-lab/openclawd/projections/run"
)

// callKey is the same for a call and for each of its repetitions. The zero callKey is of a call that nobody repeats.
type callKey eventstore.Hash

// keyOf is the key of a change's call. In a run it is the same if the same call of its model asks for the same, also when a restart has the
// run begin again; some models give the same id to call after call.
func keyOf(tx eventstore.Tx, c *change) (callKey, error) {
	call := c.call
	if call.CallID == "" {
		return callKey{}, nil
	}
	root := ""
	if call.RunID != "" {
		one, _, err := runs.Load(tx, call.RunID)
		if err != nil {
			return callKey{}, err
		}
		root = run.RootOf(call.RunID, one.RetryOf)
	}
	return callKey(digest("call", call.AgentID, call.SessionKey, root, call.CallID, c.tool, string(call.Args))), nil
}

// event is the id of the first event of what the call does, or of that by which it was refused; zero for a call that nobody repeats.
func (k callKey) event(refused bool) eventstore.ID {
	if k == (callKey{}) {
		return eventstore.ID{}
	}
	kind := "done"
	if refused {
		kind = "refused"
	}
	return eventstore.DerivedID(0, digest("event", kind, string(k[:])))
}

// digest is that of a list of texts, another one for each list.
func digest(of ...string) (sum eventstore.Hash) {
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

const selectTaskOfEvent = `SELECT json_extract(e.data, '$.taskId'), s.name FROM events e JOIN streams s ON s.id = e.stream_id WHERE e.id = ?`

// taskOfEvent is the task that an event of a task's stream is about, if there is such an event. The zero id is that of none.
func taskOfEvent(tx eventstore.Tx, id eventstore.ID) (taskID string, found bool, err error) {
	if id.IsZero() {
		return "", false, nil
	}
	err = tx.Query(selectTaskOfEvent, []any{id[:]}, func(row eventstore.Row) error {
		if taskID, found = row.Text(0), true; taskID == "" { // it is redacted
			_, taskID, _ = strings.Cut(row.Text(1), "/")
		}
		return nil
	})
	return taskID, found, err
}
