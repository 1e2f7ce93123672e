package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// runHistory has a run in each state, and other work in each of its states, as runners and workers produce them. Each type occurs with all
// members of its data filled.
func runHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	add := func(stream, typ string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 3}), Type: typ, AgentID: "eden", Actor: eventstore.ActorAgent,
			TS: goldenTime.UnixMilli() - 3_600_000 + int64(n)*1_000, CorrelationID: "corr-golden", CausationID: "cause-golden", Data: text,
		}}})
	}
	const key = "agent:eden:main"
	at := func(n int64) int64 { return goldenTime.UnixMilli() - 3_600_000 + n*1_000 }
	queued := func(id string, change func(*coordination.RunQueued)) {
		add(coordination.RunStream(id), coordination.TypeRunQueued, filled(func(q *coordination.RunQueued) {
			q.RunID, q.SessionKey, q.Lane, q.Cause, q.RetryOf, q.OnRestart, q.Reset = id, key, "main", "agent", "", "retry", ""
			q.Content, q.Provenance = json.RawMessage(`[{"type":"text","text":"…"}]`), "external_user"
			if change != nil {
				change(q)
			}
		}))
	}
	started := func(id string) {
		add(coordination.RunStream(id), coordination.TypeRunStarted, filled(func(s *coordination.RunStarted) {
			s.RunID, s.SessionKey, s.SessionID, s.StartedAtMs, s.LeaseUntilMs, s.Model = id, key, "golden-main-1", at(100), at(700), "fake/echo-1"
		}))
	}
	ends := func(id, typ string, change func(*coordination.RunOver)) {
		add(coordination.RunStream(id), typ, filled(func(o *coordination.RunOver) {
			o.RunID, o.SessionKey, o.SessionID, o.StartedAtMs, o.EndedAtMs = id, key, "golden-main-1", at(100), at(101)
			o.StopReason, o.Reason, o.Error, o.ErrorClass = "", "", "", ""
			if change != nil {
				change(o)
			}
		}))
	}

	queued("golden-ok", nil)
	started("golden-ok")
	ends("golden-ok", coordination.TypeRunEnded, func(o *coordination.RunOver) { o.StopReason = "stop" })
	queued("golden-failed", func(q *coordination.RunQueued) { q.Reset = "new" })
	started("golden-failed")
	ends("golden-failed", coordination.TypeRunFailed, func(o *coordination.RunOver) { o.Error, o.ErrorClass = "no key", "auth" })
	queued("골든 / timed out", func(q *coordination.RunQueued) { q.Lane, q.Cause = "nested", "a2a" }) // its stream has a hash for a name
	started("골든 / timed out")
	ends("골든 / timed out", coordination.TypeRunTimedOut, nil)
	queued("golden-stopped", nil)
	ends("golden-stopped", coordination.TypeRunAborted, func(o *coordination.RunOver) { o.Reason, o.StartedAtMs = "stop", 0 })
	queued("golden-broken-off", nil)
	queued("golden-queued", nil)
	started("golden-broken-off")
	ends("golden-broken-off", coordination.TypeRunAborted, func(o *coordination.RunOver) { o.Reason = "restart" })
	queued("golden-again", func(q *coordination.RunQueued) { q.RetryOf = "golden-broken-off" })
	started("golden-again")
	queued("golden-subagent", func(q *coordination.RunQueued) {
		q.SessionKey, q.Lane, q.FromAgent = "agent:eden:subagent:u1", "subagent", "main"
	})
	ends("golden-ok", coordination.TypeRunAborted, nil) // changes nothing

	scheduled := func(id, key string) {
		add(coordination.WorkStream(id), coordination.TypeWorkScheduled, filled(func(w *coordination.WorkScheduled) {
			w.EffectID, w.Kind, w.Key, w.Pool, w.Owner, w.DueAtMs, w.MaxAttempts = id, "golden", key, "outbox", "eden", 0, 5
			w.Payload = json.RawMessage(`{"text":"…"}`)
		}))
	}
	does := func(id, typ string, change func(*coordination.WorkAttempt)) {
		add(coordination.WorkStream(id), typ, filled(func(w *coordination.WorkAttempt) {
			w.EffectID, w.Attempt, w.LeaseUntilMs, w.DueAtMs = id, 1, 0, 0
			if change != nil {
				change(w)
			}
		}))
	}
	leased := func(id string) {
		does(id, coordination.TypeWorkLeased, func(w *coordination.WorkAttempt) { w.LeaseUntilMs = at(700) })
	}
	scheduled("golden-done", "k1")
	leased("golden-done")
	does("golden-done", coordination.TypeWorkReleased, func(w *coordination.WorkAttempt) { w.DueAtMs = at(200) })
	leased("golden-done")
	does("golden-done", coordination.TypeWorkLeaseExpired, func(w *coordination.WorkAttempt) { w.Reason = "restart" })
	leased("golden-done")
	does("golden-done", coordination.TypeWorkCompleted, nil)
	scheduled("golden-cancelled", "k1")
	does("golden-cancelled", coordination.TypeWorkCancelled, nil)
	scheduled("golden-dead", "k2")
	leased("golden-dead")
	does("golden-dead", coordination.TypeWorkDead, nil)
	scheduled("golden-resent", "k2")
	leased("golden-resent")
	does("golden-resent", coordination.TypeWorkDead, nil)
	does("golden-resent", coordination.TypeWorkResent, nil)
	scheduled("golden-leased", "k3")
	leased("golden-leased")
	scheduled("golden-waiting", "k3")
	scheduled("golden-later", "k4")
	leased("golden-later")
	does("golden-later", coordination.TypeWorkReleased, func(w *coordination.WorkAttempt) { w.DueAtMs = at(9_000) })
	return appends
}
