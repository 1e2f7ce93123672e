package monitor_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
)

// Migrations are told by directory, as the last one from there was: that of the last event first.
func TestMigrationsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	happens := func(id, typ string, data any) {
		b.happens(t, coordination.MigrationStream(id), typ, "", 1, data)
	}
	about := coordination.ImportMigrating{MigrationID: "a1", Program: "openclaw", From: "/a"}
	report := coordination.ImportMigrated{ImportMigrating: about, Era: "files", LeftTotal: 1, Counts: []coordination.MigrationCount{{Part: "cron", Found: 2, New: 1, Left: 1}},
		Left: []coordination.MigrationLeft{{Place: "cron/jobs.json#0", Reason: "unsupported", Detail: "it has a trigger"}}, Reasons: map[string]int64{"unsupported": 1}}
	says := func(want string) {
		t.Helper()
		got := ""
		for _, m := range get[monitor.MigrationsAnswer](t, b, "/api/migrations", http.StatusOK).Migrations {
			got += fmt.Sprintf("%s %s %v of %d left %d;", m.From, m.State, m.Complete, len(m.Counts), m.LeftTotal)
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		newContract(t, b).check(t, http.MethodGet, "/api/migrations", http.StatusOK)
	}
	says("")
	happens("a1", coordination.TypeImportMigrating, about)
	says("/a open false of 0 left 0;")
	happens("a1", coordination.TypeImportMigrated, report)
	says("/a done false of 1 left 1;")
	happens("b2", coordination.TypeImportMigrating, coordination.ImportMigrating{MigrationID: "b2", Program: "openclaw", From: "/b", Only: []string{"sessions"}})
	happens("b2", coordination.TypeImportMigrated, coordination.ImportMigrated{ImportMigrating: coordination.ImportMigrating{MigrationID: "b2", Program: "openclaw", From: "/b"},
		Era: "database", Complete: true})
	says("/b done true of 0 left 0;/a done false of 1 left 1;")
	happens("a1", coordination.TypeImportMigrating, about)
	says("/a open false of 1 left 1;/b done true of 0 left 0;")
}
