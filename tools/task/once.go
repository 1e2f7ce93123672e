package task

import (
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

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
