package collabtools

import (
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/responses"
)

// Adopt tracks a request that another program has posted, unless it is known. eventID is the event that reports it.
func (s *Service) Adopt(tx eventstore.Tx, sent collaborate.Sent, eventID eventstore.ID, now time.Time) ([]eventstore.StreamAppend, error) {
	_, known, err := responses.Load(tx, sent.RequestID)
	if err != nil || known {
		return nil, err
	}
	policy := Tracking(s.o.Config(), sent.ThreadID)
	sent.EventRole, sent.Tracked = coordination.RoleOrchestration, true
	told, err := event(collaborate.Event{Type: coordination.TypeA2ACollaborateSent, AgentID: sent.FromAgent, Data: sent}, eventstore.ActorSystem, "", now)
	if err != nil {
		return nil, fmt.Errorf("take over request %s: %w", sent.RequestID, err)
	}
	told.ID = eventID
	appends := []eventstore.StreamAppend{{Stream: coordination.CollabStream(sent.RequestID), Events: []eventstore.NewEvent{told.WithTS(sent.SentAt)}}}
	if !policy.Enabled {
		return appends, nil
	}
	follow := coordination.WorkScheduled{Context: coordination.Context{EventRole: coordination.RoleObservability}, EffectID: trackerOf(sent.RequestID),
		Kind: TrackerKind, Key: trackerOf(sent.RequestID), Pool: TrackerPool, Owner: sent.FromAgent, DueAtMs: sent.SentAt + policy.After.Milliseconds()}
	followed, err := schedule(follow, now)
	return append(appends, followed), err
}
