package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/movedin"
)

const migrationsPath = "/api/migrations"

// MigrationsAnswer answers GET /api/migrations.
type MigrationsAnswer struct {
	Migrations []migrationAnswer `json:"migrations"`
	Count      int               `json:"count"`
	AsOfSeq    int64             `json:"asOfSeq"`
}

// migrationAnswer is the last migration from a directory. What it reports is of the last one that was completed.
type migrationAnswer struct {
	ID        string                        `json:"id"`
	State     string                        `json:"state"` // open, done
	Program   string                        `json:"program"`
	From      string                        `json:"from"`
	Only      []string                      `json:"only"`
	Era       string                        `json:"era,omitempty"`
	Complete  bool                          `json:"complete"`
	BeganAtMs int64                         `json:"beganAtMs,omitempty"`
	EndedAtMs int64                         `json:"endedAtMs,omitempty"`
	Seq       int64                         `json:"seq"`
	Counts    []coordination.MigrationCount `json:"counts"`
	Left      []coordination.MigrationLeft  `json:"left"`
	LeftTotal int64                         `json:"leftTotal"`
	Reasons   map[string]int64              `json:"reasons"`
}

// listMigrations lists the migrations from directories of other programs, that of the last event first.
func (s *Server) listMigrations(c echo.Context) error {
	return s.answerTo(c, parametersOf(c), func(ctx context.Context, v *view) (any, error) {
		found, err := movedin.Read(ctx, v.tx, "")
		list := each(found, answerOfMigration)
		return MigrationsAnswer{Migrations: list, Count: len(list), AsOfSeq: v.asOf}, err
	})
}

func answerOfMigration(m *movedin.Migration) migrationAnswer {
	a := migrationAnswer{ID: m.ID, State: m.State, Program: m.Migrating.Program, From: m.Migrating.From, Only: listOf(m.Migrating.Only), BeganAtMs: m.Began,
		EndedAtMs: m.Ended, Seq: m.Seq, Counts: []coordination.MigrationCount{}, Left: []coordination.MigrationLeft{}, Reasons: map[string]int64{}}
	if r := m.Migrated; r != nil {
		a.Era, a.Complete, a.Counts, a.Left, a.LeftTotal = r.Era, r.Complete && m.State == movedin.Done, listOf(r.Counts), listOf(r.Left), r.LeftTotal
		if r.Reasons != nil {
			a.Reasons = r.Reasons
		}
	}
	return a
}
