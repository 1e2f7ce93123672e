package messenger

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

// CleanupKind is the kind of the work that deletes a finished sub-agent's session.
const CleanupKind = "subagent_cleanup"

// Values of A2AJobCreated.Cleanup.
const (
	CleanupKeep   = "keep"   // the session stays for a while, and its transcript is listed as an old one after that
	CleanupDelete = "delete" // session and transcript are deleted at once
)

// CleanupPayload is the payload of work of CleanupKind.
type CleanupPayload struct {
	SessionKey string `json:"sessionKey"`
	Transcript bool   `json:"transcript"` // the transcript stays listed
}

// cleanup schedules the deletion of a sub-agent's session, together with the end of its flow.
func (s *Service) cleanup(f *a2a.Flow, now time.Time) ([]eventstore.StreamAppend, error) {
	after := s.o.Config().Defaults.Subagents.ArchiveAfter
	keep := f.Cleanup != CleanupDelete
	if keep && after == 0 {
		return nil, nil
	}
	payload, err := json.Marshal(CleanupPayload{SessionKey: f.TargetSessionKey, Transcript: keep})
	if err != nil {
		return nil, fmt.Errorf("encode the session to delete: %w", err)
	}
	id := "cleanup:" + f.JobID
	// In no work session, which ends with it, and with a key of its own: with the session's key a new speaker there would wait for the
	// deletion.
	what := coordination.WorkScheduled{
		Context: coordination.Context{EventRole: coordination.RoleObservability}, EffectID: id, Kind: CleanupKind, Key: id, Pool: work.PoolJobs, Owner: f.ToAgent,
		DueAtMs: now.UnixMilli(), Payload: payload,
	}
	if keep {
		what.DueAtMs = now.Add(after).UnixMilli()
	}
	a, err := worker.Schedule(what)
	if err != nil {
		return nil, err
	}
	a.Events[0] = a.Events[0].WithTS(now.UnixMilli())
	return []eventstore.StreamAppend{a}, nil
}
