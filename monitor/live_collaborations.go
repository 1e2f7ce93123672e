package monitor

import (
	"context"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/responses"
)

// CollaborationNews is a change of a collaboration request, with its current state.
type CollaborationNews struct {
	Event     string `json:"event"` // requested, sent, failed, responded, reminded, escalated
	CollabID  string `json:"collabId"`
	FromAgent string `json:"fromAgent"`
	ToAgent   string `json:"toAgent"`
	ThreadID  string `json:"threadId,omitempty"`
	Delivery  string `json:"delivery"`
	Status    string `json:"status,omitempty"`
	Seq       int64  `json:"seq"` // of the event
}

// collaborationNews builds the messages about requests, one per event.
func (v *view) collaborationNews(ctx context.Context, seqs []int64, events map[int64]*eventstore.Event) (news []push.Message, err error) {
	for _, seq := range seqs {
		e := events[seq]
		if e == nil || e.Actor == eventstore.ActorImport {
			continue
		}
		what := collaborationEvent(e.Type)
		if what == "" {
			continue
		}
		id := collabOf(e)
		if id == "" {
			continue
		}
		r, found, err := responses.Load(projections.Reading(ctx, v.tx), id)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		news = append(news, push.Message{Type: "collaboration_update", AgentID: e.AgentID, TaskID: r.TaskID, Data: CollaborationNews{Event: what, CollabID: r.ID,
			FromAgent: r.FromAgent, ToAgent: r.TargetAgent, ThreadID: r.ThreadID, Delivery: string(r.Delivery), Status: string(r.Status), Seq: e.Seq}})
	}
	return news, nil
}

// collabOf is the request an event belongs to; "" if the event is neither in a request's stream nor about its
// delivery, or its data is gone.
func collabOf(e *eventstore.Event) string {
	var data struct {
		CollabID string `json:"collabId"`
		Purpose  string `json:"purpose"`
	}
	if e.Redacted() || json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	if e.Type == coordination.TypeDiscordDeliveryUnknown && data.Purpose == delivery.Request || e.Stream == coordination.CollabStream(data.CollabID) {
		return data.CollabID
	}
	return ""
}

// collaborationEvent maps an event type to its message name; "" for others.
func collaborationEvent(typ string) string {
	switch typ {
	case coordination.TypeA2ACollaborateRequested:
		return "requested"
	case coordination.TypeA2ACollaborateSent:
		return "sent"
	case coordination.TypeA2ACollaborateFailed, coordination.TypeDiscordDeliveryUnknown:
		return "failed"
	case coordination.TypeA2ACollaborateResponded:
		return "responded"
	case coordination.TypeCollabReminded:
		return "reminded"
	case coordination.TypeCollabEscalated:
		return "escalated"
	}
	return ""
}
