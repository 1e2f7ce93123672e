package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Activity is the last event of an agent.
type Activity struct {
	AgentID string `json:"-"`  // lower case
	At      int64  `json:"at"` // the event's own time, ms since 1970
	Seq     int64  `json:"seq"`
	Type    string `json:"type"`
}

const selectActivities = "SELECT a.agent, a.seq, a.at, a.type FROM json_each(?) j CROSS JOIN agent_activity a ON a.agent = j.value"

// Activities returns the last event of each of the agents that has one, by its id. Ids are lower case.
func Activities(ctx context.Context, tx *sql.Tx, ids []string) (map[string]Activity, error) {
	names, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("read the last event of agents: %w", err)
	}
	list, err := projections.ReadAll(projections.Reading(ctx, tx), "read the last event of agents", selectActivities, []any{string(names)}, func(r eventstore.Row) Activity {
		return Activity{AgentID: r.Text(0), Seq: r.Int(1), At: r.Int(2), Type: r.Text(3)}
	})
	all := make(map[string]Activity, len(list))
	for _, a := range list {
		all[a.AgentID] = a
	}
	return all, err
}
