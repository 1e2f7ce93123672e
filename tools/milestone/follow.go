package milestone

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

// Kind is the kind of the work of synchronizing an item with its task.
const Kind = "milestone"

// Pool is the pool of that work.
const Pool = "milestones"

type payload struct {
	MilestoneID     string `json:"milestoneId"`
	MilestoneItemID string `json:"milestoneItemId"`
	Status          string `json:"status"` // new status of the item
	TaskID          string `json:"taskId"`
	WorkSessionID   string `json:"workSessionId,omitempty"`
}

// Follow schedules the synchronization of an item when its task has ended, for tasktools.Options.Then. Work of one item is done in order.
func Follow(_ eventstore.Tx, c *tasktools.Changed, now time.Time) ([]eventstore.StreamAppend, error) {
	p := payload{MilestoneID: c.Backlog.MilestoneID, MilestoneItemID: c.Backlog.MilestoneItemID, Status: statusAfter(c), TaskID: c.ID,
		WorkSessionID: c.WorkSessionID}
	if p.MilestoneID == "" || p.MilestoneItemID == "" || p.Status == "" {
		return nil, nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the change of an item: %w", err)
	}
	// In no work session: that may be over with the task; the outcome is reported later.
	scheduled, err := worker.Schedule(coordination.WorkScheduled{
		Context:  coordination.Context{TaskID: c.ID, EventRole: coordination.RoleObservability},
		EffectID: effectOf(c), Kind: Kind, Key: Kind + "/" + p.MilestoneID + "/" + p.MilestoneItemID, Pool: Pool, Owner: c.Agent, Payload: text,
	})
	if _, refused := errors.AsType[*work.Refusal](err); refused { // the ids cannot name an item: the task ends all the same
		return p.endEvent(c.Agent, coordination.TypeMilestoneSyncFailed, err.Error(), now)
	}
	if err != nil {
		return nil, err
	}
	scheduled.Events[0] = scheduled.Events[0].WithTS(now.UnixMilli())
	return []eventstore.StreamAppend{scheduled}, nil
}

// statusAfter returns the status that a change of a task gives its item, "" for none.
func statusAfter(c *tasktools.Changed) (status string) {
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

// maxTaskID bounds the bytes of a task id in an effect id; a longer one is replaced by its digest.
const maxTaskID = 200

// effectOf returns the effect id of a change of a task, unique by the task's version.
func effectOf(c *tasktools.Changed) string {
	id := c.ID
	if len(id) > maxTaskID {
		id = digest(id)
	}
	return Kind + "/" + id + "/" + strconv.FormatInt(c.Version, 10)
}

// endEvent returns the event that reports the outcome for an item, in the stream of its task.
func (p *payload) endEvent(agent, typ, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	return eventstore.One(coordination.TaskStream(p.TaskID), eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem}, coordination.Milestone{
		Context:     coordination.Context{TaskID: p.TaskID, WorkSessionID: p.WorkSessionID, EventRole: coordination.RoleObservability},
		MilestoneID: p.MilestoneID, MilestoneItemID: p.MilestoneItemID, Status: p.Status, Error: coordination.Mask(why),
	}, now.UnixMilli())
}
