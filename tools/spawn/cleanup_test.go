package spawn_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/spawn"
)

// waits is the work that is still to be done of a kind.
func (h *fixture) waits(kind string) (items []workqueue.Item) {
	h.t.Helper()
	h.view(func(ctx context.Context, tx *sql.Tx) error {
		all, err := workqueue.List(ctx, tx, workqueue.Query{Limit: 100})
		for _, item := range all {
			if item.Kind == kind {
				items = append(items, item)
			}
		}
		return err
	})
	return items
}

// gone waits until a session is deleted.
func (h *fixture) gone(key string) {
	h.t.Helper()
	h.until(key+" is gone", func() bool { return h.session(key) == nil })
}

// later sets the clock forward, and has the worker look at it.
func (h *fixture) later(by time.Duration) {
	h.t.Helper()
	h.ahead.Add(by.Milliseconds())
	h.queue("tick-"+h.now().String(), "agent:main:main", "tick", "")
}

// The session of a sub-agent is deleted at once on request, else after a while in which it can be read, and never if so configured.
func TestSessionsOfSubAgentsGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, cleanup string
		after           time.Duration // 0: at once
		never, listed   bool
	}{
		"delete":              {"", "delete", 0, false, false},
		"keep":                {"", "keep", time.Hour, false, true},
		"nothing said":        {"", "", time.Hour, false, true},
		"configured":          {"subagents: {archiveAfterMinutes: 5}", "keep", 5 * time.Minute, false, true},
		"never":               {"subagents: {archiveAfterMinutes: 0}", "keep", 0, true, true},
		"delete, never other": {"subagents: {archiveAfterMinutes: 0}", "delete", 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, setting{config: c.config})
			got := h.started(messenger.SpawnRequest{Task: "look", Cleanup: c.cleanup, Label: "a"})
			row := h.flowOver(got.JobID)
			switch {
			case c.never:
				h.over(h.told("agent:eden:main")[0])
				if items := h.waits(spawn.CleanupKind); len(items) != 0 || h.session(got.ChildSessionKey) == nil {
					t.Errorf("still to do: %+v", items)
				}
				return
			case c.after > 0:
				items := h.waits(spawn.CleanupKind)
				if len(items) != 1 || items[0].DueAt != row.EndedAt+c.after.Milliseconds() || h.session(got.ChildSessionKey) == nil {
					t.Fatalf("to do is %+v", items)
				}
				h.queue("r2", got.ChildSessionKey, "what was that?", "") // does not wait for that
				h.over("r2")
				h.later(c.after)
			}
			h.gone(got.ChildSessionKey)
			e := h.last(coordination.TypeSessionDeleted)
			if kept, _ := e.Data["transcriptKept"].(bool); e.text("by") != "subagents" || kept != c.listed {
				t.Errorf("%v", e.Data)
			}
			h.until("it is done", func() bool { return len(h.waits(spawn.CleanupKind)) == 0 })
			h.flowOver(h.started(messenger.SpawnRequest{Task: "look", Label: "a"}).JobID) // its label is free
		})
	}
}

// A session with a running conversation stays until that is over.
func TestSessionInUseStays(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	got := h.started(messenger.SpawnRequest{Task: "wait for a", Cleanup: "delete"})
	h.arrives("a")
	h.queue("r2", got.ChildSessionKey, "wait for b", "")
	h.opens("a")
	h.flowOver(got.JobID)
	h.arrives("b")
	h.until("it was tried", func() bool {
		items := h.waits(spawn.CleanupKind)
		return len(items) == 1 && items[0].Attempt > 0 && items[0].State == workqueue.Waiting
	})
	if h.session(got.ChildSessionKey) == nil {
		t.Fatal("it is gone")
	}
	h.opens("b")
	h.over("r2")
	h.later(time.Hour)
	h.gone(got.ChildSessionKey)
}

// A deletion that was due before a restart is done after it.
func TestCleanupSurvivesRestart(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	got := h.started(messenger.SpawnRequest{Task: "look"})
	h.flowOver(got.JobID)
	h.over(got.JobID + ".p")
	h.crash()
	h = openAt(t, h.path, setting{})
	h.later(time.Hour)
	h.gone(got.ChildSessionKey)
}
