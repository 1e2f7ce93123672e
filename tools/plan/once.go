package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	runs "github.com/pronto-lab/openclawd/projections/run"
)

// firstEvent is the id of the event of what a call does: the same for a call and for each of its repetitions, zero for one that nobody repeats.
// In a run it is the same if the same call of its model asks for the same, also when a restart has the run begin again; some models give the
// same id to call after call.
func firstEvent(tx eventstore.Tx, c *change) (eventstore.ID, error) {
	call := c.call
	if call.CallID == "" {
		return eventstore.ID{}, nil
	}
	root := ""
	if call.RunID != "" {
		one, _, err := runs.Load(tx, call.RunID)
		if err != nil {
			return eventstore.ID{}, err
		}
		root = run.RootOf(call.RunID, one.RetryOf)
	}
	return eventstore.DerivedID(0, digest("plan", call.AgentID, call.SessionKey, root, call.CallID, c.tool, string(call.Args))), nil
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

const selectPlanOfEvent = `SELECT json_extract(e.data, '$.planId'), s.name FROM events e JOIN streams s ON s.id = e.stream_id WHERE e.id = ?`

// planOfEvent is the plan that an event of a plan's stream is about, if there is such an event. The zero id is that of none.
func planOfEvent(tx eventstore.Tx, id eventstore.ID) (planID string, found bool, err error) {
	if id.IsZero() {
		return "", false, nil
	}
	err = tx.Query(selectPlanOfEvent, []any{id[:]}, func(row eventstore.Row) error {
		if planID, found = row.Text(0), true; planID == "" { // it is redacted
			_, planID, _ = strings.Cut(row.Text(1), "/")
		}
		return nil
	})
	return planID, found, err
}
