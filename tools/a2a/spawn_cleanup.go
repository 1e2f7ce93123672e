package a2a

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

// CleanupKind is the kind of work that takes the session of a sub-agent away that is over.
const CleanupKind = "subagent_cleanup"

// Values of A2AJobCreated.Cleanup.
const (
	CleanupKeep   = "keep"   // the session stays for a while, and its transcript is listed as an old one after that
	CleanupDelete = "delete" // both go at once
)

// CleanupPayload is the payload of work of CleanupKind.
type CleanupPayload struct {
	SessionKey string `json:"sessionKey"`
	Transcript bool   `json:"transcript"` // it stays listed
}

// cleanup has the session of a sub-agent taken away, once its flow is over: it is appended with that.
func (c *Coordinator) cleanup(f *decide.Flow, now time.Time) ([]eventstore.StreamAppend, error) {
	after := c.o.Config().Defaults.Subagents.ArchiveAfter
	keep := f.Cleanup != CleanupDelete
	if keep && after == 0 {
		return nil, nil
	}
	payload, err := json.Marshal(CleanupPayload{SessionKey: f.TargetSessionKey, Transcript: keep})
	if err != nil {
		return nil, fmt.Errorf("write what is to be taken away: %w", err)
	}
	id := "cleanup:" + f.JobID
	// In no work session, which is done with it, and with a key of its own: in that of the session whoever speaks there would wait for it.
	what := coordination.WorkScheduled{
		Context: coordination.Context{EventRole: coordination.RoleObservability}, EffectID: id, Kind: CleanupKind, Key: id, Pool: queue.PoolJobs, Owner: f.ToAgent,
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
