package permissions

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// row is a row of call_approvals.
type row struct {
	permission.Approval
	name string
}

var columns = []string{"id", "name", "approval_id", "agent", "tool", "server", "call_hash", "session_key", "run_id", "first_run_id", "task_id",
	"work_session_id", "status", "scope", "requested_at", "expire_at", "decided_at", "revoked_at", "decided_by", "reason", "version", "last_seq"}

func newApprovals(table string) *projections.Table[string, row] {
	return projections.NewTable(projections.Columns[string, row]{
		Table: table, Key: 1, Fixed: 4, Keep: 200, Names: columns,
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, x *row) error {
			*x = scan(r)
			return nil
		},
		Args: func(args []any, x *row) []any {
			id := x.ID
			if id == x.name {
				id = ""
			}
			return append(args, x.Seq, x.name, id, x.Agent, x.Tool, x.Server, x.CallHash, x.SessionKey, x.RunID, x.FirstRunID, x.TaskID, x.WorkSessionID, x.Status,
				x.Scope, x.RequestedAt, x.ExpireAt, x.DecidedAt, x.RevokedAt, x.DecidedBy, x.Reason, x.Version, x.Last)
		},
	})
}

// scan reads columns.
func scan(r eventstore.Row) row {
	return row{name: r.Text(1), Approval: permission.Approval{
		Seq: r.Int(0), ID: cmp.Or(r.Text(2), r.Text(1)), Agent: r.Text(3), Tool: r.Text(4), Server: r.Text(5), CallHash: r.Text(6), SessionKey: r.Text(7),
		RunID: r.Text(8), FirstRunID: r.Text(9), TaskID: r.Text(10), WorkSessionID: r.Text(11), Status: r.Text(12), Scope: r.Text(13), RequestedAt: r.Int(14),
		ExpireAt: r.Int(15), DecidedAt: r.Int(16), RevokedAt: r.Int(17), DecidedBy: r.Text(18), Reason: r.Text(19), Version: r.Int(20), Last: r.Int(21),
	}}
}
