package spawn_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/spawn"
)

// waits is the work that is still to be done of a kind.
func (h *house) waits(kind string) (items []work.Item) {
	h.t.Helper()
	h.view(func(ctx context.Context, tx *sql.Tx) error {
		all, err := work.List(ctx, tx, work.Query{Limit: 100})
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
func (h *house) gone(key string) {
	h.t.Helper()
	h.until(key+" is gone", func() bool { return h.session(key) == nil })
}

// later sets the clock forward, and has the worker look at it.
func (h *house) later(by time.Duration) {
	h.t.Helper()
	h.ahead.Add(by.Milliseconds())
	h.queue("tick-"+h.now().String(), "agent:main:main", "tick", "")
}

// The session of a sub-agent goes at once where that was asked for, else after a while, in which one can look at it, and not at all where that is
// configured.
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
			got := h.started(a2a.SpawnRequest{Task: "look", Cleanup: c.cleanup, Label: "a"})
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
			h.flowOver(h.started(a2a.SpawnRequest{Task: "look", Label: "a"}).JobID) // its label is free
		})
	}
}

// A session in which somebody speaks with the sub-agent stays until that is over.
func TestSessionInUseStays(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	got := h.started(a2a.SpawnRequest{Task: "wait for a", Cleanup: "delete"})
	h.arrives("a")
	h.queue("r2", got.ChildSessionKey, "wait for b", "")
	h.opens("a")
	h.flowOver(got.JobID)
	h.arrives("b")
	h.until("it was tried", func() bool {
		items := h.waits(spawn.CleanupKind)
		return len(items) == 1 && items[0].Attempt > 0 && items[0].State == work.Waiting
	})
	if h.session(got.ChildSessionKey) == nil {
		t.Fatal("it is gone")
	}
	h.opens("b")
	h.over("r2")
	h.later(time.Hour)
	h.gone(got.ChildSessionKey)
}

// What was to be taken away before a restart is taken away after it.
func TestCleanupSurvivesRestart(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	got := h.started(a2a.SpawnRequest{Task: "look"})
	h.flowOver(got.JobID)
	h.over(got.JobID + ".p")
	h.crash()
	h = openAt(t, h.path, setting{})
	h.later(time.Hour)
	h.gone(got.ChildSessionKey)
}
