// Package samplework gives the sample team new work for as long as a visitor looks, so that something goes on and something waits for
// approval: a small piece every few minutes, while the team rests. All of it is bounded: an agent has one open task of it at most, a few
// pieces wait for approval, and after a number of pieces there are no more.
package samplework

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

const (
	// Every is the usual time between two pieces.
	Every = 3 * time.Minute

	firstPart   = 3   // the first piece comes after this part of the time
	most        = 240 // pieces in all: twelve hours
	mostTries   = 3   // of a piece
	mostWaiting = 3   // approvals that may wait before a piece adds one
)

// Log is the part of the store that is used here, with the projections plans, runs and tasks.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Options of New. All are required.
type Options struct {
	Log    Log
	Tools  tool.Box // of the agents
	Every  time.Duration
	Now    func() time.Time
	Logger *slog.Logger

	Schedules Schedules // of the server
}

// Service gives work.
type Service struct{ o Options }

// New returns a service that does nothing until Run.
func New(o Options) *Service { return &Service{o} }

// Run gives work until ctx ends, or all of it is given; then it returns nil. A clock that stands still gives none.
func (s *Service) Run(ctx context.Context) error {
	if err := s.First(ctx); err != nil && ctx.Err() == nil {
		s.o.Logger.Warn("cannot give the sample team its first work; other work follows", "err", err)
	}
	for next := 0; next < most; {
		pause := s.o.Every
		if next == 0 { // so that a visitor soon sees something
			pause /= firstPart
		}
		began := s.o.Now()
		if err := wait.For(ctx, pause); err != nil {
			return nil
		}
		if s.o.Now().Sub(began) < pause/2 {
			continue
		}
		n, err := s.Give(ctx, next)
		if err != nil && n > next {
			err = s.again(ctx, n-1, err)
		}
		if next = n; err != nil && ctx.Err() == nil {
			s.o.Logger.Warn("cannot give the sample team new work; other work follows", "err", err)
		}
	}
	return nil
}

// again repeats a piece that has failed, a few times. Its agent may have taken it up in part.
func (s *Service) again(ctx context.Context, n int, err error) error {
	for range mostTries - 1 {
		s.o.Logger.Warn("cannot give the sample team new work; it is tried again", "err", err)
		if wait.For(ctx, s.o.Every) != nil {
			return nil
		}
		if err = s.take(ctx, n, &pieces[n%len(pieces)]); err == nil {
			return nil
		}
	}
	return err
}

// Give gives the first piece from number n on that the team can take up now, and returns the number after it. It gives none while the team
// works, and returns n then.
func (s *Service) Give(ctx context.Context, n int) (next int, err error) {
	rests, waiting := false, 0
	busy := map[string]bool{}
	err = s.o.Log.View(ctx, func(tx *sql.Tx) error {
		open := true
		working, err := runs.List(ctx, tx, runs.Query{States: []run.State{run.Queued, run.Running}, Limit: mostWaiting + 1})
		if err != nil || slices.ContainsFunc(working, func(r run.Result) bool { return !r.Parked() }) {
			return err
		}
		rests = len(working) <= mostWaiting
		approvals, err := pending.Approvals(ctx, tx, pending.Query{Limit: most, Now: s.o.Now().UnixMilli()})
		if err != nil {
			return err
		}
		waiting = approvals.Total()
		rows, _, err := tasks.List(ctx, tx, tasks.Filter{Open: &open})
		for i := range rows {
			busy[rows[i].AgentID] = true
		}
		waiting += toWait(busy, approvals.List)
		return err
	})
	if err != nil || !rests {
		return n, err
	}
	for i := range pieces {
		p := &pieces[(n+i)%len(pieces)]
		if !busy[p.agent] && (p.approvals == 0 || waiting < mostWaiting) {
			return n + i + 1, s.take(ctx, n+i, p)
		}
	}
	return n, nil
}

// toWait counts the approvals that agents are going to make wait for the tasks that they have taken up, or will take from their backlogs.
func toWait(busy map[string]bool, waiting []approval.Approval) (n int) {
	for i := range pieces {
		p := &pieces[i]
		if p.later && busy[p.agent] && !slices.ContainsFunc(waiting, func(a approval.Approval) bool { return a.AgentID == p.agent }) {
			n += p.approvals
		}
	}
	return n
}

// take lets the agent of a piece take it up. The calls of a number are the same calls however often they are repeated.
func (s *Service) take(ctx context.Context, n int, p *piece) error {
	for i := range p.calls {
		c := &p.calls[i]
		args, err := c.text()
		if err != nil {
			return err
		}
		caller := tool.Caller{Entry: tool.ByCLI, AgentID: p.agent, SessionKey: coordination.MainKey(p.agent).String(), By: by,
			CallID: fmt.Sprintf("sample:%d:%d", n, i)}
		out, err := s.o.Tools.Call(ctx, caller, c.tool, args)
		if err != nil {
			return fmt.Errorf("call %s for %s: %w", c.tool, p.agent, err)
		}
		if out.IsError {
			return fmt.Errorf("call %s for %s: %s", c.tool, p.agent, out.Text)
		}
	}
	return nil
}
