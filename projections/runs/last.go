package runs

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// An interrupted run is found by its id, and its retries by the id of the first attempt.
const (
	selectEvent = selectResult + ", e.type, e.ver, e.data FROM runs r LEFT JOIN events e ON e.seq = r.over_seq WHERE r.id = "

	selectLast     = selectEvent + "(SELECT max(id) FROM (SELECT id FROM runs WHERE name = ? UNION ALL SELECT id FROM runs WHERE retry_of = ? AND retry_of <> ''))"
	selectLastOver = selectEvent + `(SELECT max(id) FROM (SELECT id FROM runs WHERE name = ? AND over_seq <> 0
 UNION ALL SELECT id FROM runs WHERE retry_of = ? AND retry_of <> '' AND over_seq <> 0))`
)

// LoadLast returns the latest attempt of the run requested under an id, within the transaction that is going to
// append. Over is read if that is over; it is nil if the event that ended it is redacted.
func LoadLast(tx eventstore.Tx, rootID string) (r run.Result, found bool, err error) {
	return loadLast(tx, selectLast, rootID)
}

// TextOf returns the text of a finished run, likewise within a transaction. For the id of a first attempt it is the
// text of the newest finished attempt. Redacted text is empty.
func TextOf(tx eventstore.Tx, runID string) (text string, found bool, err error) {
	r, found, err := loadLast(tx, selectLastOver, runID)
	if err != nil || !found || r.Over == nil {
		return "", found, err
	}
	return r.Over.Text, true, nil
}

func loadLast(tx eventstore.Tx, query, rootID string) (r run.Result, found bool, err error) {
	err = tx.Query(query, []any{nameOf(rootID), rootID}, func(row eventstore.Row) error {
		r, found = scan(row), true
		if !row.Null(results + 2) {
			r.Over = overOf(row.Text(results), int(row.Int(results+1)), row.Blob(results+2))
		}
		return nil
	})
	if err != nil {
		return run.Result{}, false, fmt.Errorf("load run and its retries: %w", err)
	}
	return r, found, nil
}
