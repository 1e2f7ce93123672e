package migrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

// Coordination logs of ProntoClaw are taken over, the oldest first; its other files are named.
func TestCoordinationLogs(t *testing.T) {
	t.Parallel()
	const line = `{"type":"task.started","agentId":"eden","ts":1795850000000,"data":{"taskId":"task_1"}}` + "\n"
	h := newHome(t)
	h.write("logs/coordination-events-2026-10.ndjson", line+"\nno event\n")
	h.write("logs/coordination-events.ndjson", strings.ReplaceAll(line, "started", "completed")+`{"type":"task.up`)
	h.write("state/thread-participants.json", "{}")
	o := h.options()
	o.Log = nil
	plan, err := migrate.Run(t.Context(), o)
	if err != nil || count(plan, migrate.Coordination).Found != 4 || h.head() != 0 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	r := h.migrate()
	if c := count(r, migrate.Coordination); c.Found != 3 || c.New != 3 || h.head() != 3 || r.Reasons[openclaw.ReasonTorn] != 1 {
		t.Errorf("report %+v, %+v", r, c)
	}
	wantReason(t, r, migrate.ReasonInvalidEntry, false)
	wantReason(t, r, migrate.ReasonWorkspace, false)
	if c := count(h.migrate(), migrate.Coordination); c.New != 0 || c.Already != 3 || h.head() != 3 {
		t.Errorf("the second run: %+v", c)
	}
	h.write("logs/coordination-events.ndjson", strings.ReplaceAll(line, "started", "completed")+strings.ReplaceAll(line, "started", "updated"))
	if c := count(h.migrate(), migrate.Coordination); c.New != 1 || h.head() != 4 {
		t.Errorf("a later run: %+v", c)
	}
}

func TestLinksToCoordinationLogsAreRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "coordination-events.ndjson"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(h.dir, "logs")); err != nil {
		t.Fatal(err)
	}
	wantReason(t, h.migrate(), openclaw.ReasonLinkOut, false)
	if h.head() != 0 {
		t.Errorf("%d events", h.head())
	}
}
