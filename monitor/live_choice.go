package monitor

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections"
)

// choice formats a page of the log for clients with topics.
type choice struct {
	view         *view
	public, full feedBatch
	hints        []push.Message
}

// messages implements push.Page.Chosen. A panic becomes this call's error.
func (c *choice) messages(wanted push.View) (list []push.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if wanted.Topics.Has(push.Events) {
		batch := c.public
		if wanted.Full {
			batch = c.full
		}
		if wanted.Slim {
			list = batch.messagesWith(c.view.renderSlim)
		} else {
			list = batch.messages()
		}
	}
	if wanted.Topics.Has(push.Hints) {
		list = append(list, c.hints...)
	}
	return list, nil
}

// slimEvent is an event without its data: what a list shows of it, and the ids by which a page knows what it changes.
type slimEvent struct {
	Seq            int64                   `json:"seq"`
	ID             string                  `json:"id"`
	Type           string                  `json:"type"`
	AgentID        string                  `json:"agentId"`
	From           string                  `json:"from"`
	To             string                  `json:"to,omitempty"`
	Time           float64                 `json:"time"`
	EventRole      coordination.Role       `json:"eventRole,omitempty"`
	CollabCategory coordination.Category   `json:"collabCategory,omitempty"`
	TaskID         string                  `json:"taskId,omitempty"`
	WorkSessionID  string                  `json:"workSessionId,omitempty"`
	State          coordination.Outcome    `json:"state,omitempty"`
	ReasonCode     coordination.ReasonCode `json:"reasonCode,omitempty"`
	IsError        bool                    `json:"isError,omitempty"`
	Internal       bool                    `json:"internal,omitempty"`
	Redacted       bool                    `json:"redacted,omitempty"`
	DisplayText    string                  `json:"displayText,omitempty"` // its beginning
}

// slimText is how many characters of a text a slim event has.
const slimText = 300

// renderSlim encodes an event without its data. Members of the record do not take precedence.
func (v *view) renderSlim(t *feedEvent) []byte {
	var shown slimEvent
	o := newObject(1_024)
	v.describeEvent(o, &t.record, projections.Current(t.Event).Data)
	_ = json.Unmarshal(o.end(), &shown) // our own members, of these types
	shown.Seq, shown.ID, shown.Type, shown.AgentID, shown.Time = t.Seq, t.ID.String(), t.record.Type, t.record.AgentID, t.record.Time
	shown.From, shown.To, shown.TaskID, shown.WorkSessionID = orUnknown(t.record.From()), t.record.To(), t.record.TaskID, t.record.WorkSessionID
	shown.Redacted, shown.Internal, shown.DisplayText = t.Redacted(), internal(t.Event), coordination.Beginning(shown.DisplayText, slimText)
	if t.entry != nil {
		shown.EventRole, shown.CollabCategory = t.entry.Role, t.entry.Category
	}
	text, err := encode(shown)
	if err != nil {
		return []byte("{}") // texts and finite numbers always encode
	}
	return text
}
