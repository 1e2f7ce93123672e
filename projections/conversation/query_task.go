package conversation

import (
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// What is read of a task to find its work session: most of its events say it.
const (
	recentOfTask = 16       // events
	maxTaskData  = 64 << 10 // bytes of the data of each
)

const selectOfTask = `SELECT e.type, e.ver, e.data FROM streams s JOIN events e ON e.stream_id = s.id
 WHERE s.name = ? AND length(e.data) <= ? ORDER BY e.version DESC LIMIT ?`

// WorkSessionOfTask is the work session that the newest of a task's own events names, within the transaction that is going to append. "" is a
// task that nothing is known of, and one whose newest events name none. What it costs does not depend on the length of the log.
func WorkSessionOfTask(tx eventstore.Tx, taskID string) (workSessionID string, err error) {
	stream := coordination.StreamOf(&coordination.Record{Type: coordination.TypeTaskUpdated, Facts: coordination.Facts{TaskID: taskID}})
	if stream == coordination.LogStream {
		return "", nil // its id cannot stand in the name of a stream, so its events lie among others
	}
	err = tx.Query(selectOfTask, []any{stream, maxTaskData, recentOfTask}, func(row eventstore.Row) error {
		if workSessionID != "" {
			return nil
		}
		e := projections.Current(&eventstore.Event{Type: row.Text(0), Ver: int(row.Int(1)), Data: json.RawMessage(row.Text(2))})
		return coordination.EachField(e.Data, func(name string, raw []byte) bool {
			if name == "workSessionId" {
				workSessionID, _ = coordination.StringValue(raw)
			}
			return workSessionID == ""
		})
	})
	if err != nil {
		return "", fmt.Errorf("find the work session of a task: %w", err)
	}
	return workSessionID, nil
}
