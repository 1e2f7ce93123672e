package plantools

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

// Follow rejects the pending plans of a task that has ended. It is for tasktools.Options.Then. No run reports it: the plan's agent has
// ended the task, or is told of that.
func Follow(tx eventstore.Tx, c *tasktools.Changed, now time.Time) (appends []eventstore.StreamAppend, err error) {
	if !c.Terminal() {
		return nil, nil
	}
	plans, err := plans.Of(tx, c.Agent, c.ID)
	if err != nil {
		return nil, err
	}
	of := plan.Task{ID: c.ID, Agent: c.Agent, WorkSessionID: c.WorkSessionID, Over: true}
	for _, p := range plans { // at most plan.MaxPending
		e, lapses := plan.Lapse(p, of)
		if !lapses {
			continue
		}
		one, err := eventstore.One(coordination.PlanStream(p.ID), eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorSystem},
			e.Data, now.UnixMilli())
		if err != nil {
			return nil, err
		}
		appends = append(appends, one...)
	}
	return appends, nil
}
