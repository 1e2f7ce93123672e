package server

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/internal/taskhub"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/tools/approval"
	"github.com/pronto-lab/openclawd/tools/continuation"
)

// keepGoing has agents go on with their tasks until ctx ends. It waits until the tables and the log are up to date: what a follower has not read
// yet, and what is rebuilt, would tell of agents as they were.
func (p *Program) keepGoing(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	select {
	case <-p.caughtUp:
	case <-ctx.Done():
		return nil
	}
	return p.agents.executor.Run(ctx)
}

// restartedAt is when this process began, if agents have worked here before: what they were at may have been broken off. Else it is zero.
func (p *Program) restartedAt(ctx context.Context) (at time.Time, err error) {
	err = p.log.View(ctx, func(tx *sql.Tx) error {
		runs, err := run.List(ctx, tx, run.Query{Limit: 1})
		if len(runs) > 0 {
			at = p.startedAt
		}
		return err
	})
	return at, err
}

// explainer says what would be done about agents; nil where another gateway keeps them going.
func (p *Program) explainer() monitor.Explain {
	if p.agents == nil {
		return nil
	}
	return func(ctx context.Context, tx *sql.Tx, agent string) (monitor.Explained, bool, error) {
		e, known, err := continuation.Explain(ctx, tx, p.newConfiguration().InForce(), agent, p.opts.Now(), p.agents.restartedAt)
		return monitor.Explained(e), known, err
	}
}

// newTaskHub asks the Task-Hub of the configuration in force.
func (p *Program) newTaskHub() *taskhub.Client {
	return taskhub.New(taskhub.Options{Address: func() (base, cookie string) {
		s := p.opts.settings(p.newConfiguration().InForce())
		return s.TaskHub.Value, s.Cookie.Value.Reveal()
	}})
}

// approvalsOf is where people decide by the API; nil: nothing is decided here.
func (a *agents) approvalsOf() monitor.Approvals {
	if a == nil {
		return nil
	}
	return approvals{a.office}
}

// approvals gives what an office says the types of the API.
type approvals struct{ office *approval.Office }

// Approve implements monitor.Approvals.
func (a approvals) Approve(ctx context.Context, id, person string) (monitor.Decided, error) {
	d, err := a.office.Approve(ctx, id, person)
	return monitor.Decided(d), approvalError(err)
}

// Reject implements monitor.Approvals.
func (a approvals) Reject(ctx context.Context, id, person, reason string) (monitor.Decided, error) {
	d, err := a.office.Reject(ctx, id, person, reason)
	return monitor.Decided(d), approvalError(err)
}

func approvalError(err error) error {
	if r, is := errors.AsType[*approval.Refusal](err); is {
		return &monitor.ApprovalError{Reason: r.Reason, Field: r.Field, Text: r.Text, Mend: r.Mend, Unknown: r.Unknown}
	}
	return err
}
