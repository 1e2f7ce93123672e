package conversations

import (
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// How much of a task is read to find its work session: most of its events name it.
const (
	recentOfTask = 16       // number of events
	maxTaskData  = 64 << 10 // bytes of each event's data
)

const selectOfTask = `SELECT e.type, e.ver, e.data FROM streams s JOIN events e ON e.stream_id = s.id
 WHERE s.name = ? AND length(e.data) <= ? ORDER BY e.version DESC LIMIT ?`

// WorkSessionOfTask returns the work session named by the newest of a task's own events, within the transaction that
// is going to append. It is "" if the task is unknown or its newest events name none. Its cost does not depend on the
// length of the log.
func WorkSessionOfTask(tx eventstore.Tx, taskID string) (workSessionID string, err error) {
	stream := coordination.StreamOf(&coordination.Record{Type: coordination.TypeTaskUpdated, Facts: coordination.Facts{TaskID: taskID}})
	if stream == coordination.LogStream {
		return "", nil // its id is not valid in a stream name, so its events are in other streams
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
