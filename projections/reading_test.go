package projections_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// What is read by a view is what a decision reads; it writes nothing.
func TestReadingIsAsDecisionsRead(t *testing.T) {
	t.Parallel()
	db := setup(t)
	const query = "SELECT ?, 7, 0.5, '글', x'6a', NULL UNION ALL SELECT ?, 8, 1.5, '', x'', 'x'"
	stop := errors.New("enough")
	read := func(tx eventstore.Tx, rows int) (text string, err error) {
		err = tx.Query(query, []any{"a", int64(2)}, func(r eventstore.Row) error {
			for i := range 6 {
				text += fmt.Sprintf("%d %g %q %q %t, ", r.Int(i), r.Float(i), r.Text(i), r.Blob(i), r.Null(i))
			}
			if rows--; rows == 0 {
				return stop
			}
			return nil
		})
		return text, err
	}
	for rows, want := range map[int]error{1: stop, 3: nil} {
		var decided, viewed string
		_, err := db.Decide(t.Context(), func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
			decided, err = read(tx, rows)
			return nil, err
		})
		if !errors.Is(err, want) || decided == "" {
			t.Fatal(decided, err)
		}
		err = db.View(t.Context(), func(tx *sql.Tx) (err error) {
			viewed, err = read(projections.Reading(t.Context(), tx), rows)
			return err
		})
		if !errors.Is(err, want) || viewed != decided {
			t.Errorf("%d rows: %v, %q, want %q", rows, err, viewed, decided)
		}
	}
	err := db.View(t.Context(), func(tx *sql.Tx) error {
		reading := projections.Reading(t.Context(), tx)
		if _, err := reading.Exec("DELETE FROM events"); err == nil {
			t.Error("it writes")
		}
		return reading.Query("SELECT nothing", nil, func(eventstore.Row) error { return nil })
	})
	if err == nil {
		t.Error("what makes no sense was read")
	}
}
