package migrate_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

const allowed = `{"version":1,"agents":{"eden":{"allowlist":[{"pattern":"/usr/bin/git"},{"pattern":"/bin/ls"}]},"noah":{}}}`

// What is granted, secret, or a file of an agent is named with place and reason: in files of 2026.2 to 2026.5, and in the database since.
func TestGrantsAreListed(t *testing.T) {
	t.Parallel()
	files := newHome(t)
	files.store(stored(mainKey, "t1", ""))
	files.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	files.write("exec-approvals.json", allowed)
	files.write("devices/paired.json", `{"d1":{"tokens":{"operator":{"token":"secret-1"}}},"d2":{}}`)
	files.write("agents/eden/agent/auth-profiles.json", `{"profiles":{"fake":{"key":"secret-2"}}}`)
	files.write("workspace/MEMORY.md", "secret-3")
	files.write("workspace-noah/memory/2026-11-28.md", "secret-3")
	wantLeft(t, files.migrate(), map[string]string{
		"exec-approvals.json#eden": migrate.ReasonPermission, "devices/paired.json": migrate.ReasonCredential,
		"agents/eden/agent/auth-profiles.json": migrate.ReasonCredential, "workspace": migrate.ReasonWorkspace,
	}, false)

	rows := newHome(t)
	db := rows.database("state/openclaw.sqlite", stateSchema)
	rows.exec(db, "CREATE TABLE exec_approvals_config (config_key TEXT PRIMARY KEY, raw_json TEXT)")
	rows.exec(db, "CREATE TABLE device_pairing_paired (device_id TEXT PRIMARY KEY)")
	rows.exec(db, "INSERT INTO exec_approvals_config VALUES ('current', ?), ('old', '{')", allowed)
	rows.exec(db, "INSERT INTO device_pairing_paired VALUES ('d1')")
	rows.write("exec-approvals.json", `{"agents":{"old":{"allowlist":[{}]}}}`) // the database has replaced it
	rows.write("devices/paired.json", `{"d1":{},"d2":{}}`)
	wantLeft(t, rows.migrate(), map[string]string{
		"state/openclaw.sqlite#exec_approvals_config#eden": migrate.ReasonPermission, "state/openclaw.sqlite#device_pairing_paired": migrate.ReasonCredential,
		"state/openclaw.sqlite#exec_approvals_config": openclaw.ReasonInvalid,
	}, false)
}

// Devices, keys and workspaces lose nothing: a migration that leaves nothing else is complete.
func TestWhatIsGivenAgainIsANote(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	h.write("exec-approvals.json", `{"version":1,"socket":{"token":"secret"},"agents":{"eden":{"allowlist":[]}}}`)
	h.write("devices/paired.json", `{"d1":{}}`)
	wantLeft(t, h.migrate(), map[string]string{"devices/paired.json": migrate.ReasonCredential}, true)
	o := h.options()
	o.Only = []string{migrate.Cron}
	r, err := migrate.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	wantLeft(t, r, map[string]string{}, true)
}

// wantLeft compares places and reasons, and looks for secrets.
func wantLeft(t *testing.T, r *migrate.Report, want map[string]string, complete bool) {
	t.Helper()
	for _, p := range r.Left {
		if want[p.Place] != p.Reason || strings.Contains(p.Detail+p.Hint, "secret") {
			t.Errorf("left %+v", p)
		}
	}
	if len(r.Left) != len(want) || r.Complete != complete {
		t.Errorf("%d left, complete %v; want %d, %v: %+v", len(r.Left), r.Complete, len(want), complete, r.Left)
	}
}
