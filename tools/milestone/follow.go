package milestone

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools/task"
)

// Kind is the kind of work of an item that has to follow its task.
const Kind = "milestone"

// Pool is its pool.
const Pool = "milestones"

// payload is that of work of Kind.
type payload struct {
	MilestoneID     string `json:"milestoneId"`
	MilestoneItemID string `json:"milestoneItemId"`
	Status          string `json:"status"` // that the item is to have
	TaskID          string `json:"taskId"`
	WorkSessionID   string `json:"workSessionId,omitempty"`
}

// Follow says what is appended when a task that is linked to an item has ended: that the item has to follow. It is for task.Options.Then. What
// follows for one item is done in that order.
func Follow(_ eventstore.Tx, c *task.Changed, now time.Time) ([]eventstore.StreamAppend, error) {
	p := payload{MilestoneID: c.Backlog.MilestoneID, MilestoneItemID: c.Backlog.MilestoneItemID, Status: statusAfter(c), TaskID: c.ID,
		WorkSessionID: c.WorkSessionID}
	if p.MilestoneID == "" || p.MilestoneItemID == "" || p.Status == "" {
		return nil, nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write what an item has to follow: %w", err)
	}
	// In no work session: that is done with the task, and is told of the item when it has followed.
	scheduled, err := worker.Schedule(coordination.WorkScheduled{
		Context:  coordination.Context{TaskID: c.ID, EventRole: coordination.RoleObservability},
		EffectID: effectOf(c), Kind: Kind, Key: Kind + "/" + p.MilestoneID + "/" + p.MilestoneItemID, Pool: Pool, Owner: c.Agent, Payload: text,
	})
	if _, refused := errors.AsType[*queue.Refusal](err); refused { // its ids cannot be those of an item: the task ends all the same
		return p.tell(c.Agent, coordination.TypeMilestoneSyncFailed, err.Error(), now)
	}
	if err != nil {
		return nil, err
	}
	scheduled.Events[0] = scheduled.Events[0].WithTS(now.UnixMilli())
	return []eventstore.StreamAppend{scheduled}, nil
}

// statusAfter is the status that the item of a task gets by a change of the task, "" for none.
func statusAfter(c *task.Changed) (status string) {
	for _, e := range c.Events {
		switch e.Type {
		case coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted:
			status = statusDone
		case coordination.TypeTaskCancelled:
			status = statusCancelled
		}
	}
	return status
}

// maxTaskID is how many bytes of a task's id stand in the id of an effect; a longer one stands there as its digest.
const maxTaskID = 200

// effectOf is the id of the effect of a change of a task: no two changes leave a task in one version.
func effectOf(c *task.Changed) string {
	id := c.ID
	if len(id) > maxTaskID {
		id = digest(id)
	}
	return Kind + "/" + id + "/" + strconv.FormatInt(c.Version, 10)
}

// tell is the event that says what became of an item, in the stream of its task.
func (p *payload) tell(agent, typ, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	data, err := json.Marshal(coordination.Milestone{
		Context:     coordination.Context{TaskID: p.TaskID, WorkSessionID: p.WorkSessionID, EventRole: coordination.RoleObservability},
		MilestoneID: p.MilestoneID, MilestoneItemID: p.MilestoneItemID, Status: p.Status, Error: coordination.Mask(why),
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", typ, err)
	}
	return []eventstore.StreamAppend{{Stream: coordination.TaskStream(p.TaskID), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem, Data: data}.WithTS(now.UnixMilli())}}}, nil
}
