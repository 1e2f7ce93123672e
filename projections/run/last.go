package run

import (
	"fmt"

	decide "github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// A run that was broken off is found by its id, and all that repeat it by the id of the one that was asked for at first.
const (
	selectEvent = selectResult + ", e.type, e.ver, e.data FROM runs r LEFT JOIN events e ON e.seq = r.over_seq WHERE r.id = "

	selectLast     = selectEvent + "(SELECT max(id) FROM (SELECT id FROM runs WHERE name = ? UNION ALL SELECT id FROM runs WHERE retry_of = ? AND retry_of <> ''))"
	selectLastOver = selectEvent + `(SELECT max(id) FROM (SELECT id FROM runs WHERE name = ? AND over_seq <> 0
 UNION ALL SELECT id FROM runs WHERE retry_of = ? AND retry_of <> '' AND over_seq <> 0))`
)

// LoadLast gives the run that was asked for at first under an id, or what repeats it and was asked for last, within the transaction that is
// going to append. Over is read once that is over; it is nil where the event that ended it is redacted.
func LoadLast(tx eventstore.Tx, rootID string) (r decide.Result, found bool, err error) {
	return loadLast(tx, selectLast, rootID)
}

// TextOf gives what a run has said that is over, likewise within a transaction. By the id of one that was asked for at first it is what the
// newest has said of those that repeat it and are over. Nothing is left of what was redacted.
func TextOf(tx eventstore.Tx, runID string) (text string, found bool, err error) {
	r, found, err := loadLast(tx, selectLastOver, runID)
	if err != nil || !found || r.Over == nil {
		return "", found, err
	}
	return r.Over.Text, true, nil
}

func loadLast(tx eventstore.Tx, query, rootID string) (r decide.Result, found bool, err error) {
	err = tx.Query(query, []any{nameOf(rootID), rootID}, func(row eventstore.Row) error {
		r, found = scan(row), true
		if !row.Null(results + 2) {
			r.Over = overOf(row.Text(results), int(row.Int(results+1)), row.Blob(results+2))
		}
		return nil
	})
	if err != nil {
		return decide.Result{}, false, fmt.Errorf("load run and what repeats it: %w", err)
	}
	return r, found, nil
}
