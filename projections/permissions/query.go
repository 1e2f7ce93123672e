package permissions

import (
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

var (
	selectAll     = "SELECT a." + strings.Join(columns, ", a.")
	selectOne     = selectAll + " FROM call_approvals a WHERE a.name = ?"
	selectLasting = "SELECT 1 FROM call_approvals WHERE agent = ? AND tool = ? AND status = 'approved' AND scope <> '' AND revoked_at = 0 AND (scope = 'tool' OR call_hash = ?) LIMIT 1"
	selectOfRun   = selectAll + " FROM call_approvals a WHERE a.first_run_id = ? AND a.first_run_id <> '' AND a.status = 'pending' ORDER BY a.id"
	selectCovered = selectAll + " FROM call_approvals a WHERE a.agent = ? AND a.status = 'pending' AND a.expire_at > ? AND a.tool = ? AND (? = 'tool' OR a.call_hash = ?) AND a.id <> ? AND substr(a.name, 1, length(?)) <> ? ORDER BY a.id"
	selectWaiting = "SELECT count(*) FROM call_approvals WHERE agent = ? AND status = 'pending' AND expire_at > ?"
	selectSince   = selectAll + ", e.data FROM call_approvals a LEFT JOIN events e ON e.seq = a.id WHERE a.last_seq > ? ORDER BY a.last_seq LIMIT ?"
	selectShown   = selectAll + ", e.data FROM call_approvals a LEFT JOIN events e ON e.seq = a.id"
)

// All functions here may be called in a decision, or with projections.Reading.

// Load returns an approval.
func Load(tx eventstore.Tx, id string) (*permission.Approval, bool, error) {
	a, found, err := projections.ReadOne(tx, "load an approval of a call", selectOne, []any{nameOf(id)}, one)
	return &a, found, err
}

// Permitted reports whether an agent has a lasting permission for a call.
func Permitted(tx eventstore.Tx, agent, tool, callHash string) (bool, error) {
	_, found, err := projections.ReadOne(tx, "look for a permission", selectLasting, []any{strings.ToLower(agent), tool, callHash}, func(eventstore.Row) bool { return true })
	return found, err
}

// Covered returns the other calls that wait at a time and that a lasting permission covers.
func Covered(tx eventstore.Tx, lasting *permission.Approval, now int64) ([]permission.Approval, error) {
	return projections.ReadAll(tx, "list the calls that a permission covers", selectCovered,
		[]any{lasting.Agent, now, lasting.Tool, lasting.Scope, lasting.CallHash, lasting.Seq, permission.InputPrefix, permission.InputPrefix}, one)
}

// OfRun returns what is pending for a run, by the id of its first attempt.
func OfRun(tx eventstore.Tx, firstRunID string) ([]permission.Approval, error) {
	return projections.ReadAll(tx, "list approvals of a run", selectOfRun, []any{firstRunID}, one)
}

// Waiting counts the calls of an agent that wait at a time.
func Waiting(tx eventstore.Tx, agent string, now int64) (n int, err error) {
	n, _, err = projections.ReadOne(tx, "count approvals of calls", selectWaiting, []any{strings.ToLower(agent), now}, func(r eventstore.Row) int { return int(r.Int(0)) })
	return n, err
}

func one(r eventstore.Row) permission.Approval { return scan(r).Approval }

// Shown is an approval with what its request says of the call.
type Shown struct {
	permission.Approval
	Arguments      json.RawMessage         // secrets masked; nil if they are long, redacted or archived
	ArgumentsBytes int                     // of absent ones, if known
	Input          *coordination.CallInput // nil: it is about the call itself, or no longer known
}

// Query selects approvals of calls, oldest first.
type Query struct {
	Agent   string // lower case; "": any
	Waiting bool   // pending ones at Now
	Lasting bool   // permissions that outlast their call
	Now     int64  // ms since 1970
	Limit   int    // 0: all
}

// List returns approvals.
func List(tx eventstore.Tx, q Query) ([]Shown, error) {
	condition, args := q.where()
	query := selectShown + condition + " ORDER BY a.id"
	if q.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, q.Limit)
	}
	return projections.ReadAll(tx, "list approvals of calls", query, args, shown)
}

// Count returns how many approvals a query selects, without its limit.
func Count(tx eventstore.Tx, q Query) (n int, err error) {
	condition, args := q.where()
	n, _, err = projections.ReadOne(tx, "count approvals of calls", "SELECT count(*) FROM call_approvals a"+condition, args, func(r eventstore.Row) int { return int(r.Int(0)) })
	return n, err
}

func (q *Query) where() (condition string, args []any) {
	where := []string{"1"}
	if q.Agent != "" {
		where, args = append(where, "a.agent = ?"), append(args, q.Agent)
	}
	if q.Waiting {
		where, args = append(where, "a.status = 'pending' AND a.expire_at > ?"), append(args, q.Now)
	}
	if q.Lasting {
		where = append(where, "a.status = 'approved' AND a.scope <> '' AND a.revoked_at = 0")
	}
	return " WHERE " + strings.Join(where, " AND "), args
}

// Since returns the approvals that have changed after an event, in the order of their last changes.
func Since(tx eventstore.Tx, seq int64, limit int) ([]Shown, error) {
	return projections.ReadAll(tx, "list changed approvals of calls", selectSince, []any{seq, limit}, shown)
}

// Show returns an approval with its call.
func Show(tx eventstore.Tx, id string) (Shown, bool, error) {
	return projections.ReadOne(tx, "read an approval of a call", selectShown+" WHERE a.name = ?", []any{nameOf(id)}, shown)
}

// Named returns the approval that an id names, or the beginning of one, if it is long enough: only where no other one was ever asked for
// whose id begins so. several reports that there are others.
func Named(tx eventstore.Tx, id string) (a Shown, found, several bool, err error) {
	if a, found, err = Show(tx, id); err != nil || found || len(id) < shortID {
		return a, found, false, err
	}
	from := nameOf(id)
	list, err := projections.ReadAll(tx, "look for an approval of a call", selectShown+" WHERE a.name >= ? AND a.name < ? ORDER BY a.name LIMIT 2", []any{from, from + "\x7f"}, shown)
	if err != nil || len(list) == 0 {
		return Shown{}, false, false, err
	}
	return list[0], len(list) == 1, len(list) > 1, nil
}

const selectDecision = "SELECT data FROM events WHERE seq = ? AND data IS NOT NULL"

// Values is what a person has given for an input, if the log still has it.
func Values(tx eventstore.Tx, a *permission.Approval) (json.RawMessage, error) {
	text, found, err := projections.ReadOne(tx, "read the values of an input", selectDecision, []any{a.Last}, func(r eventstore.Row) string { return r.Text(0) })
	if err != nil || !found {
		return nil, err
	}
	var d coordination.CallApprovalDecided
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, nil //nolint:nilerr // it is not what this program writes, and so gives nothing
	}
	return d.Values, nil
}

// shortID is how many characters of an id clients show and send at least.
const shortID = 8

func shown(r eventstore.Row) Shown {
	s := Shown{Approval: one(r)}
	at := len(columns)
	if r.Null(at) {
		return s
	}
	var d coordination.CallApprovalRequested
	if json.Unmarshal([]byte(r.Text(at)), &d) == nil {
		s.Arguments, s.ArgumentsBytes, s.Input = d.Arguments, d.ArgumentsBytes, d.Input
	}
	return s
}
