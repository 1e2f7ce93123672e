package plan

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/plan"
	"github.com/pronto-lab/openclawd/tools/task"
)

// Follow says what is appended when a task has ended: that its plans which wait for a decision are rejected. It is for task.Options.Then. No run
// tells of it: who has submitted them has ended the task, or is told of that.
func Follow(tx eventstore.Tx, c *task.Changed, now time.Time) (appends []eventstore.StreamAppend, err error) {
	if !c.Terminal() {
		return nil, nil
	}
	plans, err := projection.Of(tx, c.Agent, c.ID)
	if err != nil {
		return nil, err
	}
	of := plan.Task{ID: c.ID, Agent: c.Agent, WorkSessionID: c.WorkSessionID, Over: true}
	for _, p := range plans { // at most plan.MaxPending of them wait
		e, lapses := plan.Lapse(p, of)
		if !lapses {
			continue
		}
		data, err := json.Marshal(e.Data)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", e.Type, err)
		}
		appends = append(appends, eventstore.StreamAppend{Stream: coordination.PlanStream(p.ID), Events: []eventstore.NewEvent{
			eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorSystem, Data: data}.WithTS(now.UnixMilli())}})
	}
	return appends, nil
}
