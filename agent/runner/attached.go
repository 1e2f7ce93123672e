package runner

import (
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/eventstore"
)

const selectFetched = `SELECT e.type, e.data FROM streams s JOIN events e ON e.stream_id = s.id
 WHERE s.name = ? AND e.type IN ('work.scheduled', 'work.completed') ORDER BY e.version`

// attach adds the files of a run's message to it, as its channel has fetched them. They had the run's key and came before it, so that is
// over. What was asked for is named with the reason if it ended without a result, and nothing is if it was redacted.
func (j *params) attach(tx eventstore.Tx) error {
	if j.asked.Files == "" {
		return nil
	}
	var order attach.Order
	var result *attach.Result
	err := tx.Query(selectFetched, []any{coordination.WorkStream(j.asked.Files)}, func(row eventstore.Row) error {
		if row.Null(1) {
			return nil
		}
		if row.Text(0) == coordination.TypeWorkScheduled {
			var asked coordination.WorkScheduled
			if json.Unmarshal([]byte(row.Text(1)), &asked) == nil {
				_ = json.Unmarshal(asked.Payload, &order) // another form names no files
			}
			return nil
		}
		var ended coordination.WorkAttempt
		var found attach.Result
		if json.Unmarshal([]byte(row.Text(1)), &ended) == nil && json.Unmarshal(ended.Result, &found) == nil {
			result = &found
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the files of a message: %w", err)
	}
	if result == nil {
		failed := order.Failed("openclawd could not fetch it")
		result = &failed
	}
	j.message.Text += result.Text()
	if len(j.message.Content) == 0 {
		j.message.Content = result.Content(j.message.Text)
	}
	return nil
}
