package pending

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/permissions"
)

// addCalls adds the calls of tools that wait.
func (w *Waiting) addCalls(tx eventstore.Tx, q *Query) error {
	of := permissions.Query{Agent: q.Agent, Waiting: true, Now: q.Now, Limit: q.Limit}
	found, err := permissions.List(tx, of)
	if err != nil || len(found) == 0 {
		return err
	}
	for i := range found {
		w.Add(OfCall(&found[i]))
	}
	kind := w.Kinds[approval.OfCall]
	kind.N, err = permissions.Count(tx, of)
	w.Kinds[approval.OfCall] = kind
	return err
}

func callWaiting(tx eventstore.Tx, id string, now int64) (*approval.Approval, error) {
	s, found, err := permissions.Show(tx, id)
	if err != nil || !found || s.StatusAt(now) != permission.Pending {
		return nil, err
	}
	return OfCall(&s), nil
}

// Lasting reads the permissions for calls that outlast the call that was asked for, oldest first, each with its decision.
func Lasting(tx eventstore.Tx, q Query) ([]approval.Approval, error) {
	list := []approval.Approval{}
	found, err := permissions.List(tx, permissions.Query{Agent: q.Agent, Lasting: true, Limit: q.Limit})
	for i := range found {
		list = append(list, *brief(OfCall(&found[i])))
	}
	return list, err
}

// Decided returns what was decided about a call; nil if there is no such call, or nothing was decided.
func Decided(tx eventstore.Tx, id string) (*approval.Approval, error) {
	s, found, err := permissions.Show(tx, id)
	if err != nil || !found || s.Status == permission.Pending {
		return nil, err
	}
	return brief(OfCall(&s)), nil
}

// OfCall is the approval of a call of a tool.
func OfCall(s *permissions.Shown) *approval.Approval {
	a := &approval.Approval{ID: s.ID, Kind: approval.OfCall, AgentID: s.Agent, Title: callTitle(s), TaskID: s.TaskID, WorkSessionID: s.WorkSessionID, SessionKey: s.SessionKey,
		DerivedFromSeq: s.Last, Decision: decisionOf(&s.Approval), Call: &approval.Call{Tool: s.Tool, Server: s.Server, Arguments: s.Arguments,
			ArgumentsBytes: s.ArgumentsBytes, RunID: s.RunID, ExpiresAtMs: s.ExpireAt, Input: approval.InputOf(s.Input)}}
	a.Since(time.UnixMilli(s.RequestedAt).UTC().Format("2006-01-02T15:04:05.000Z"))
	return a
}

// decisionOf is what was decided; nil while it waits. What no one decided was rejected by the program.
func decisionOf(a *permission.Approval) *approval.Decision {
	d := &approval.Decision{Status: approval.Rejected, By: a.DecidedBy, Reason: a.Reason, Scope: a.Scope, AtMs: a.DecidedAt, Seq: a.Last}
	switch a.Status {
	case permission.Pending:
		return nil
	case permission.Approved:
		d.Status = approval.Approved
	case permission.Expired:
		d.By, d.Reason = program, "no one decided in time"
	case permission.Cancelled:
		d.By, d.Reason = program, "its run has ended"
	}
	return d
}

// program decides where no one else does.
const program = "openclawd"

const titleLength = 200 // characters

// callTitle is a call in one line: the tool with its command, or with its arguments; of a request for input, with what the server says.
func callTitle(s *permissions.Shown) string {
	if s.Tool == "" {
		return "(redacted)"
	}
	if s.Input != nil {
		return coordination.Beginning(s.Tool+" asks: "+s.Input.Message, titleLength)
	}
	text, command := permission.Line(s.Tool, s.Arguments)
	if command {
		text = s.Tool + " " + text
	}
	return coordination.Beginning(text, titleLength)
}
