package work

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Append is what tells what becomes of an item: an event of a type of work, in the item's stream, by its owner.
func (i *Item) Append(typ string, data coordination.WorkAttempt, now time.Time) (eventstore.StreamAppend, error) {
	data.EffectID, data.EventRole = i.EffectID, coordination.RoleObservability
	text, err := json.Marshal(data)
	if err != nil {
		return eventstore.StreamAppend{}, fmt.Errorf("write %s: %w", typ, err)
	}
	return eventstore.StreamAppend{Stream: work.Stream(i.EffectID), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: i.Owner, Data: text}.WithTS(now.UnixMilli())}}, nil
}
