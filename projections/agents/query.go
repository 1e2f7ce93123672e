package agents

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Read returns the state of agents, by id in lower case. Its cost depends on what is open and on the runs of the day,
// not on the length of the log.
func Read(ctx context.Context, tx *sql.Tx, ids []string, now time.Time) (map[string]*State, error) {
	r := reader{ctx: ctx, tx: tx, now: now, states: make(map[string]*State, len(ids))}
	for _, id := range ids {
		r.states[strings.ToLower(id)] = &State{}
	}
	for _, part := range []struct {
		name string
		read func() error
	}{{"activity", r.activity}, {"queue", r.queue}, {"runs", r.runs}, {"tokens", r.tokens}, {"flows", r.flows}, {"approvals", r.approvals}, {"back-off", r.backoff}} {
		if err := part.read(); err != nil {
			return nil, fmt.Errorf("read %s of agents: %w", part.name, err)
		}
	}
	return r.states, nil
}

type reader struct {
	ctx    context.Context
	tx     *sql.Tx
	now    time.Time
	states map[string]*State
	lanes  []workqueue.Lane
}

func (r *reader) activity() error {
	ids := make([]string, 0, len(r.states))
	for id := range r.states {
		ids = append(ids, id)
	}
	all, err := index.Activities(r.ctx, r.tx, ids)
	for id, a := range all {
		r.states[id].Activity = &a
	}
	return err
}

func (r *reader) queue() (err error) {
	if r.lanes, err = workqueue.Lanes(r.ctx, r.tx); err != nil {
		return err
	}
	now := r.now.UnixMilli()
	for i := range r.lanes {
		l := &r.lanes[i]
		s := r.states[strings.ToLower(l.Owner)]
		if s == nil {
			continue
		}
		s.Queue.Dead += l.Dead
		if l.Pool == work.PoolJobs {
			continue
		}
		s.Queue.Waiting += l.Waiting
		s.Queue.Running += l.Leased
		if l.Waiting > 0 && l.Since > 0 {
			s.Queue.OldestMs = max(s.Queue.OldestMs, now-l.Since)
		}
	}
	return nil
}

// runs finds the longest running run of each agent; without one, the run that was queued first.
func (r *reader) runs() error {
	running, err := runs.List(r.ctx, r.tx, runs.Query{States: []run.State{run.Running}})
	if err != nil {
		return err
	}
	slices.Reverse(running)
	for i := range running {
		if s := r.states[strings.ToLower(running[i].AgentID)]; s != nil && s.Run == nil {
			s.Run = &Run{running[i].RunID, run.Running, running[i].StartedAt}
		}
	}
	for i := range r.lanes {
		l := &r.lanes[i]
		s := r.states[strings.ToLower(l.Owner)]
		if s == nil || l.Waiting == 0 || l.Pool == work.PoolJobs || s.Run != nil && (s.Run.State == run.Running || s.Run.Since <= l.Since) {
			continue
		}
		first, found, err := workqueue.FirstWaiting(r.ctx, r.tx, l.Pool, l.Owner)
		if err != nil {
			return err
		}
		if id, is := strings.CutPrefix(first.EffectID, work.RunEffect("")); found && is {
			s.Run = &Run{id, run.Queued, first.Since}
		}
	}
	return nil
}

func (r *reader) tokens() error {
	day := time.Date(r.now.Year(), r.now.Month(), r.now.Day(), 0, 0, 0, 0, r.now.Location())
	spent, err := runs.TokensIn(r.ctx, r.tx, day.UnixMilli(), day.AddDate(0, 0, 1).UnixMilli())
	for _, s := range r.states {
		s.Tokens.Day = day.Format(time.DateOnly)
	}
	for agent, t := range spent {
		if s := r.states[agent]; s != nil {
			s.Tokens.In, s.Tokens.Out = t.Input, t.Output
		}
	}
	return err
}

func (r *reader) flows() error {
	open, err := flows.List(r.ctx, r.tx, flows.Query{Open: true})
	for i := range open {
		if s := r.states[strings.ToLower(open[i].FromAgent)]; s != nil {
			s.Asking++
		}
	}
	return err
}

func (r *reader) approvals() error {
	open, err := plans.List(r.ctx, r.tx, plans.Query{Status: plan.Pending})
	if err != nil {
		return err
	}
	for i := range open {
		if s := r.states[open[i].Agent]; s != nil {
			s.Plans++
		}
	}
	calls, err := permissions.List(projections.Reading(r.ctx, r.tx), permissions.Query{Waiting: true, Now: r.now.UnixMilli()})
	for i := range calls {
		if s := r.states[calls[i].Agent]; s != nil {
			s.Calls++
		}
	}
	return err
}

func (r *reader) backoff() error {
	rows, err := continuations.List(r.ctx, r.tx)
	for i := range rows {
		if s := r.states[rows[i].AgentID]; s != nil && rows[i].Failures > 0 {
			s.Until = rows[i].BackoffUntil
		}
	}
	return err
}
