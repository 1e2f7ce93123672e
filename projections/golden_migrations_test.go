package projections_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// migrationHistory is a migration that leaves something, and another directory's that was interrupted.
func migrationHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	begin := goldenTime.UnixMilli() - 3_600_000
	add := func(id, typ string, data any) {
		n := len(appends) + 1
		one, err := eventstore.One(coordination.MigrationStream(id), eventstore.NewEvent{ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 16}),
			Type: typ}, data, begin+int64(n)*1_000)
		if err != nil {
			t.Fatal(err)
		}
		appends = append(appends, one...)
	}
	about := func(id, from string, only ...string) coordination.ImportMigrating {
		return coordination.ImportMigrating{Context: coordination.Context{EventRole: coordination.RoleObservability}, MigrationID: id, Program: "openclaw", From: from, Only: only}
	}
	add("a1", coordination.TypeImportMigrating, about("a1", "/home/eden/.openclaw"))
	add("a1", coordination.TypeImportMigrated, coordination.ImportMigrated{ImportMigrating: about("a1", "/home/eden/.openclaw"), Era: "files", LeftTotal: 1,
		Counts:  []coordination.MigrationCount{{Part: "sessions", Found: 2, New: 2}, {Part: "cron", Found: 1, Left: 1}},
		Reasons: map[string]int64{"unsupported": 1, "torn_line": 1},
		Left: []coordination.MigrationLeft{
			{Place: "cron/jobs.json#0", Reason: "unsupported", Detail: "the job ping has a trigger, which decides whether it runs"},
			{Place: "agents/eden/sessions/t1.jsonl:3", Reason: "torn_line", Detail: "the last line is incomplete", Note: true},
		}})
	add("b2", coordination.TypeImportMigrating, about("b2", "/srv/openclaw", "sessions"))
	return appends
}
