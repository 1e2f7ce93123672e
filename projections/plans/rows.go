package plans

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// row is a row of plans.
type row struct {
	name string
	plan plan.Plan
}

// columns returns the scan targets for one row.
type columns interface {
	Int(i int) int64
	Text(i int) string
}

var planColumns = []string{"id", "name", "plan_id", "agent", "version", "last_seq", "task_id", "work_session_id", "session_key", "title", "steps",
	"steps_count", "tools", "status", "submitted_at", "decided_at", "decided_by", "reason"}

func newPlans(table string) *projections.Table[string, row] {
	return projections.NewTable(projections.Columns[string, row]{
		Table: table, Key: 1, Fixed: 4, Keep: 200, Names: planColumns,
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, x *row) error {
			*x = scanRow(r)
			return nil
		},
		Args: func(args []any, x *row) []any {
			p, id := &x.plan, x.plan.ID
			if id == x.name {
				id = ""
			}
			return append(args, p.Seq, x.name, id, p.Agent, p.Version, p.Last, p.TaskID, p.WorkSessionID, p.SessionKey, p.Title, projections.JSONList(p.Steps),
				p.StepsCount, projections.JSONList(p.Tools), p.Status, p.SubmittedAt, p.DecidedAt, p.DecidedBy, p.Reason)
		},
	})
}

// scanRow reads planColumns.
func scanRow(r columns) row {
	return row{name: r.Text(1), plan: plan.Plan{
		Seq: r.Int(0), ID: cmp.Or(r.Text(2), r.Text(1)), Agent: r.Text(3), Version: r.Int(4), Last: r.Int(5), TaskID: r.Text(6), WorkSessionID: r.Text(7),
		SessionKey: r.Text(8), Title: r.Text(9), Steps: projections.ListOf[string](r.Text(10)), StepsCount: int(r.Int(11)), Tools: projections.ListOf[string](r.Text(12)), Status: r.Text(13),
		SubmittedAt: r.Int(14), DecidedAt: r.Int(15), DecidedBy: r.Text(16), Reason: r.Text(17),
	}}
}
