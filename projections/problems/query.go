package problems

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

const (
	// The newest event of a type in a stream, if it is among the last ones: a stream may be long.
	selectLast = `SELECT l.seq, l.ts, l.data FROM (SELECT e.seq, e.type, e.ts, e.data FROM events e
  WHERE e.stream_id = (SELECT s.id FROM streams s WHERE s.name = ?) ORDER BY e.version DESC LIMIT 200) l WHERE l.type = ? LIMIT 1`

	// The first queued run of each session whose time has come, and when the run before it ended.
	selectStartable = `SELECT r.id, CASE r.run_id WHEN '' THEN r.name ELSE r.run_id END, r.session_key, r.agent, r.lane, r.queued_at, r.job, r.work_session, k.ready_at,
 coalesce((SELECT p.ended_at FROM runs p WHERE p.session_key = r.session_key AND p.id < r.id AND p.over_seq > 0 ORDER BY p.id DESC LIMIT 1), 0)
  FROM work_lanes l CROSS JOIN work_keys k ON k.pool = l.pool AND k.owner = l.owner AND k.kind = l.kind AND k.ready_at IS NOT NULL AND k.ready_at <= ?
  CROSS JOIN runs r ON r.id = k.seq WHERE l.kind = 'run' AND l.waiting > 0`
)

// Query is what Read reads.
type Query struct {
	Now      int64          // ms since 1970
	Kinds    []Kind         // only these are listed, though all are counted; none is all
	Most     int            // of each kind that may be frequent
	Capacity map[string]int // how many runs a lane may have at a time; nil: unknown
	Tasks    bool           // the tables have the tasks
	// Events reads events with archived payloads; nil: reasons in those are unknown.
	Events func(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error)
}

// most is how many problems of some kinds are listed: 0 if only others are wanted.
func (q *Query) most(kinds ...Kind) int {
	if len(q.Kinds) == 0 || slices.ContainsFunc(kinds, func(k Kind) bool { return slices.Contains(q.Kinds, k) }) {
		return q.Most
	}
	return 0
}

// Read reads what is in the log. Its cost depends on what is listed, and little on what is open, which is counted; not on the length of
// the log.
func Read(ctx context.Context, tx *sql.Tx, q Query) (*Facts, error) {
	r := reader{ctx: ctx, tx: tx, Query: q, f: &Facts{Now: q.Now}}
	for _, part := range []struct {
		name string
		read func() error
	}{
		{"given up work", r.dead}, {"stuck conversations", r.threads}, {"blocked tasks", r.tasks}, {"unanswered requests", r.requests},
		{"stuck agents", r.agents}, {"stuck runs", r.runs}, {"suspended places", r.places},
	} {
		if err := part.read(); err != nil {
			return nil, fmt.Errorf("read %s: %w", part.name, err)
		}
	}
	return r.f, nil
}

type reader struct {
	ctx context.Context
	tx  *sql.Tx
	f   *Facts
	Query
	lanes []workqueue.Lane
}

// last returns the newest event of a type in a stream, and its payload, which is empty if it was archived or redacted; the zero Last if it
// is not among the last ones.
func (r *reader) last(stream, typ string) (l Last, data []byte, err error) {
	err = r.tx.QueryRowContext(r.ctx, selectLast, stream, typ).Scan(&l.LastSeq, &l.LastAt, &data)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return l, data, err
}

// archived returns the payload of an archived event; empty if it was redacted.
func (r *reader) archived(seq int64) ([]byte, error) {
	if r.Events == nil {
		return nil, nil
	}
	list, err := r.Events(r.ctx, r.tx, []int64{seq})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0].Data, nil
}

func (r *reader) dead() (err error) {
	if r.lanes, err = workqueue.Lanes(r.ctx, r.tx); err != nil {
		return err
	}
	for i := range r.lanes {
		r.f.DeadN += r.lanes[i].Dead
	}
	if r.f.DeadN == 0 || r.most(Dead) == 0 {
		return nil
	}
	list, err := workqueue.List(r.ctx, r.tx, workqueue.Query{State: workqueue.Dead, Newest: true, Limit: r.Most})
	for i := range list {
		last, _, err := r.last(work.Stream(list[i].EffectID), coordination.TypeWorkDead)
		if err != nil {
			return err
		}
		r.f.Dead = append(r.f.Dead, DeadWork{list[i], last})
	}
	return err
}

func (r *reader) threads() (err error) {
	if r.f.BlockedN, r.f.SilentN, err = conversations.CountStuck(r.ctx, r.tx, float64(r.Now)); err != nil {
		return err
	}
	for _, of := range []struct {
		outcome coordination.Outcome
		kind    Kind
		n       int
	}{{coordination.OutcomeBlocked, Blocked, r.f.BlockedN}, {coordination.OutcomeNoReply, NoReply, r.f.SilentN}} {
		if of.n == 0 || r.most(of.kind) == 0 {
			continue
		}
		list, err := conversations.StuckIn(r.ctx, r.tx, float64(r.Now), of.outcome, r.Most)
		if err != nil {
			return err
		}
		r.f.Threads = append(r.f.Threads, list...)
	}
	return nil
}

func (r *reader) tasks() error {
	if !r.Tasks {
		return nil
	}
	list, n, err := tasks.Blocked(r.ctx, r.tx, r.most(TaskBlocked))
	if err != nil {
		return err
	}
	r.f.TasksN = n
	for i := range list {
		t := &list[i]
		last, _, err := r.last(coordination.TaskStream(t.ID), coordination.TypeTaskBlocked)
		if err != nil {
			return err
		}
		r.f.Tasks = append(r.f.Tasks, BlockedTask{*t, last})
	}
	return r.importedTasks()
}

// maxImported limits how many blocked tasks of imported events are looked at.
const maxImported = 1_000

// importedTasks adds the blocked tasks that only imported events tell of. What a table of tasks has is told by it.
func (r *reader) importedTasks() error {
	list, err := conversations.BlockedTasks(r.ctx, r.tx, float64(r.Now), maxImported)
	if err != nil || len(list) == 0 {
		return err
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].TaskID
	}
	known, err := tasks.Labels(r.ctx, r.tx, ids)
	if err != nil {
		return err
	}
	most := r.most(TaskBlocked)
	for i := range list {
		if _, is := known[list[i].TaskID]; is {
			continue
		}
		r.f.ImportedN++
		if r.f.ImportedN <= most {
			r.f.Imported = append(r.f.Imported, list[i])
		}
	}
	return nil
}

func (r *reader) requests() (err error) {
	escalated := responses.Query{Status: response.StatusEscalated}
	if r.f.EscalatedN, err = responses.Count(r.ctx, r.tx, escalated); err != nil {
		return err
	}
	if escalated.Limit = r.most(Escalated); r.f.EscalatedN > 0 && escalated.Limit > 0 {
		if r.f.Escalated, err = responses.List(r.ctx, r.tx, escalated); err != nil {
			return err
		}
	}
	r.f.Pending, r.f.PendingN, err = responses.Reminded(r.ctx, r.tx, r.most(Overdue))
	return err
}

func (r *reader) agents() (err error) {
	if r.f.Continuations, err = continuations.List(r.ctx, r.tx); err != nil {
		return err
	}
	if r.f.Flows, r.f.FlowsN, err = flows.Overdue(r.ctx, r.tx, r.Now-DueGrace.Milliseconds(), r.most(Overdue)); err != nil {
		return err
	}
	for i := range r.f.Continuations {
		c := &r.f.Continuations[i]
		for id, care := range c.Tasks {
			if !care.Told && care.Gone == "" {
				continue
			}
			if err := r.told(c.AgentID, id, care); err != nil {
				return err
			}
		}
	}
	return nil
}

// told reads an escalation, unless the task has gone on since.
func (r *reader) told(agent, taskID string, care continuation.Care) error {
	t, found, err := tasks.Brief(r.ctx, r.tx, taskID)
	if err != nil || !found || t.EndedMs > 0 || t.Gone {
		return err
	}
	blocked := care.Told && t.Status == coordination.StateBlocked
	unstartable := care.Gone != "" && t.Status == coordination.StateBacklog
	if !blocked && !unstartable {
		return nil
	}
	last, data, err := r.last(coordination.TaskStream(taskID), coordination.TypeUnblockFailed)
	if err == nil && last.LastSeq > 0 && len(data) == 0 {
		data, err = r.archived(last.LastSeq)
	}
	if err != nil {
		return err
	}
	var d coordination.Unblock
	_ = json.Unmarshal(data, &d) // redacted data says nothing
	told := ToldTask{AgentID: agent, TaskID: taskID, WorkSessionID: t.WorkSessionID, Title: t.Title(), Reason: d.Reason, To: d.ToldAgentID, Last: last}
	if unstartable {
		told.Dependency = care.Gone
		if told.Reason == "" {
			told.Reason = string(continuation.DependencyGone)
		}
	}
	r.f.Told = append(r.f.Told, told)
	return nil
}

func (r *reader) runs() (err error) {
	if r.f.Running, err = runs.List(r.ctx, r.tx, runs.Query{States: []run.State{run.Running}}); err != nil {
		return err
	}
	running := map[string]int{}
	for i := range r.lanes {
		running[r.lanes[i].Pool] += r.lanes[i].Leased
	}
	r.f.Startable, err = projections.ReadAll(projections.Reading(r.ctx, r.tx), "find runs that can start", selectStartable, []any{r.Now}, func(row eventstore.Row) Startable {
		s := Startable{Result: run.Result{Seq: row.Int(0), RunID: row.Text(1), SessionKey: row.Text(2), AgentID: row.Text(3), Lane: row.Text(4),
			QueuedAt: row.Int(5), JobID: row.Text(6), WorkSessionID: row.Text(7), State: run.Queued}}
		s.ReadySince = max(s.QueuedAt, row.Int(8), row.Int(9))
		s.Running, s.Capacity = running[s.Lane], r.Capacity[s.Lane]
		return s
	})
	return err
}

func (r *reader) places() error {
	list, err := routing.SuspendedPlaces(r.ctx, r.tx, r.Now)
	for i := range list {
		last, _, err := r.last(coordination.ThreadStream(list[i].ID), coordination.TypeThreadSuspended)
		if err != nil {
			return err
		}
		r.f.Places = append(r.f.Places, Suspension{list[i], last})
	}
	return err
}
