package workqueue

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Append is an event of a work type in an item's stream, with its owner as agent.
func (i *Item) Append(typ string, data coordination.WorkAttempt, now time.Time) (eventstore.StreamAppend, error) {
	data.EffectID, data.EventRole = i.EffectID, coordination.RoleObservability
	a := eventstore.StreamAppend{Stream: work.Stream(i.EffectID)}
	err := a.Add(eventstore.NewEvent{Type: typ, AgentID: i.Owner}, data, now.UnixMilli())
	return a, err
}

// Appends is Append as the whole of a decision.
func (i *Item) Appends(typ string, data coordination.WorkAttempt, now time.Time) ([]eventstore.StreamAppend, error) {
	a, err := i.Append(typ, data, now)
	return []eventstore.StreamAppend{a}, err
}
