// Package pending reads what waits for people from the tables of several projections: tasks, plans and calls of tools for
// approval, and open requests and posts in Discord.
package pending

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// Query filters pending approvals. Zero values select all.
type Query struct {
	Agent string // lower case
	Kind  string
	Now   int64 // ms since 1970: calls that are due to expire do not wait any more
	Limit int   // of the listed ones, not of the counts
}

// Wants reports whether a kind is selected.
func (q *Query) Wants(kind string) bool { return q.Kind == "" || q.Kind == kind }

// Waiting is the list of pending approvals.
type Waiting struct {
	List  []approval.Approval // longest waiting first, abbreviated
	Kinds map[string]Kind     // regardless of the limit; kinds without pending approvals are absent
}

// Kind counts the pending approvals of a kind.
type Kind struct {
	N       int
	SinceMs int64 // when the oldest was requested, ms since 1970; 0 if unknown
}

// New has nothing that waits yet.
func New() *Waiting { return &Waiting{List: []approval.Approval{}, Kinds: map[string]Kind{}} }

// Total is the number of pending approvals of all kinds.
func (w *Waiting) Total() (n int) {
	for _, of := range w.Kinds {
		n += of.N
	}
	return n
}

// Approvals reads the pending approvals from the tables of tasks, plans and calls of tools.
func Approvals(ctx context.Context, tx *sql.Tx, q Query) (*Waiting, error) {
	w := New()
	if q.Wants(approval.OfTask) {
		open := true
		f := tasks.Filter{Statuses: []string{coordination.StatePendingApproval}, Open: &open}
		if q.Agent != "" {
			f.Agents = []string{q.Agent}
		}
		rows, _, err := tasks.List(ctx, tx, f)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if waits(&rows[i]) {
				w.Add(OfTask(rows[i].AgentID, &rows[i].Task, rows[i].Seq))
			}
		}
	}
	if q.Wants(approval.OfPlan) {
		if err := w.addPlans(ctx, tx, plans.Query{Agent: q.Agent, Status: plan.Pending, Limit: q.Limit, Oldest: true}); err != nil {
			return nil, err
		}
	}
	if q.Wants(approval.OfCall) {
		if err := w.addCalls(projections.Reading(ctx, tx), &q); err != nil {
			return nil, err
		}
	}
	w.Sort(q.Limit)
	return w, nil
}

// waits reports whether a task waits for approval. A task whose file another gateway has removed does not.
func waits(r *tasks.Row) bool { return r.Status == coordination.StatePendingApproval && !r.Gone }

// addPlans reads only as many plans as are listed: they may be long.
func (w *Waiting) addPlans(ctx context.Context, tx *sql.Tx, q plans.Query) error {
	found, err := plans.List(ctx, tx, q)
	if err != nil || len(found) == 0 {
		return err
	}
	for i := range found {
		w.Add(ofPlan(&found[i]))
	}
	of := w.Kinds[approval.OfPlan]
	of.N, err = plans.Count(ctx, tx, q)
	w.Kinds[approval.OfPlan] = of
	return err
}

// Add counts an approval, and lists it abbreviated.
func (w *Waiting) Add(a *approval.Approval) {
	of := w.Kinds[a.Kind]
	of.N++
	if at := a.RequestedAtMs; at > 0 && (of.SinceMs == 0 || at < of.SinceMs) {
		of.SinceMs = at
	}
	w.Kinds[a.Kind] = of
	w.List = append(w.List, *brief(a))
}

// Sort sorts by waiting time, longest first, and keeps limit of the listed ones, 0 all; unknown times come first.
func (w *Waiting) Sort(limit int) {
	slices.SortFunc(w.List, func(a, b approval.Approval) int {
		return cmp.Or(cmp.Compare(a.RequestedAtMs, b.RequestedAtMs), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	if limit > 0 {
		w.List = w.List[:min(limit, len(w.List))]
	}
}

// Approval returns the full approval with an id, nil if it is not pending at a time, in ms since 1970.
func Approval(ctx context.Context, tx *sql.Tx, id string, now int64) (*approval.Approval, error) {
	if strings.HasPrefix(id, permission.Prefix) {
		return callWaiting(projections.Reading(ctx, tx), id, now)
	}
	p, found, err := plans.Load(projections.Reading(ctx, tx), id)
	if err != nil {
		return nil, err
	}
	if found && p.Status == plan.Pending {
		return ofPlan(p), nil
	}
	r, found, err := tasks.Brief(ctx, tx, id)
	if err != nil || !found || !waits(r) {
		return nil, err
	}
	return OfTask(r.AgentID, &r.Task, r.Seq), nil
}

// OfTask is the approval of a task; seq is that of the last event that changed it, 0 if it is from a file.
func OfTask(agent string, t *taskfile.Task, seq int64) *approval.Approval {
	a := &approval.Approval{ID: t.ID, Kind: approval.OfTask, AgentID: agent, Title: t.Title(), Description: t.Description, TaskID: t.ID,
		WorkSessionID: t.WorkSessionID, Priority: t.Priority, SessionKey: t.CreatedBySessionKey, DerivedFromSeq: seq, StepsCount: len(t.Steps)}
	for i := range t.Steps {
		a.Steps = append(a.Steps, t.Steps[i].Content)
	}
	a.Since(t.Created)
	return a
}

func ofPlan(p *plan.Plan) *approval.Approval {
	a := &approval.Approval{ID: p.ID, Kind: approval.OfPlan, AgentID: p.Agent, Title: p.Title, Steps: p.Steps, StepsCount: p.StepsCount, ToolsRequested: p.Tools,
		TaskID: p.TaskID, WorkSessionID: p.WorkSessionID, SessionKey: p.SessionKey, DerivedFromSeq: p.Last}
	a.Since(p.Show().SubmittedAt)
	return a
}

// Limits of an approval in lists, which keep lists small whatever agents write.
const (
	briefSteps = 20
	briefStep  = 300   // characters
	briefText  = 2_000 // characters of a description

	briefArguments = 4_000 // bytes of a call's arguments
)

// brief abbreviates an approval for lists.
func brief(a *approval.Approval) *approval.Approval {
	short := *a
	short.Description, short.Steps = coordination.Beginning(a.Description, briefText), nil
	if a.Call != nil && len(a.Call.Arguments) > briefArguments {
		call := *a.Call
		call.ArgumentsBytes, call.Arguments = len(call.Arguments), nil
		short.Call = &call
	}
	for _, step := range a.Steps[:min(briefSteps, len(a.Steps))] {
		short.Steps = append(short.Steps, coordination.Beginning(step, briefStep))
	}
	return &short
}
