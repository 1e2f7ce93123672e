package plan

import (
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

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
