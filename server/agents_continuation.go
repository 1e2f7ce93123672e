package server

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/internal/taskhub"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/tools/collabtools"
)

// runContinuation runs the continuation of agents until ctx ends. It starts when the tables and the log are up to date, because unread logs
// and rebuilding tables would show agents in an old state.
func (p *Program) runContinuation(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	if !p.catchesUp(ctx) {
		return nil
	}
	p.answered.wait(ctx)
	return p.agents.continuer.Run(ctx)
}

// restartedAt is the start of this process if agents have worked here before, because their work may have been
// interrupted. Else it is zero.
func (p *Program) restartedAt(ctx context.Context) (at time.Time, err error) {
	err = p.log.View(ctx, func(tx *sql.Tx) error {
		runs, err := runs.List(ctx, tx, runs.Query{Limit: 1})
		if len(runs) > 0 {
			at = p.startedAt
		}
		return err
	})
	return at, err
}

// explainer explains continuation decisions; nil where another gateway continues the agents.
func (p *Program) explainer() monitor.Explain {
	if p.agents == nil {
		return nil
	}
	return func(ctx context.Context, tx *sql.Tx, agent string) (continuation.Explained, bool, error) {
		return continuer.Explain(ctx, tx, p.newConfiguration().InForce(), agent, p.opts.Now(), p.agents.restartedAt)
	}
}

// newTaskHub returns a client of the configured Task-Hub.
func (p *Program) newTaskHub() *taskhub.Client {
	return taskhub.New(taskhub.Options{Address: func() (base, cookie string) {
		s := p.opts.settings(p.newConfiguration().InForce())
		return s.TaskHub.Value, s.Cookie.Value.Reveal()
	}})
}

// approvalsOf handles people's decisions through the API; nil: no decisions are made here.
func (a *agents) approvalsOf() monitor.Approvals {
	if a == nil {
		return nil
	}
	return a.approvals
}

// operatorOf changes tasks for people through the API; nil: no tasks are changed here.
func (a *agents) operatorOf() monitor.Operator {
	if a == nil {
		return nil
	}
	return a.approvals
}

// remindersOf says when unanswered requests are followed up, by their place; nil: not here.
func (a *agents) remindersOf() func(place string) response.Policy {
	if a == nil {
		return nil
	}
	return func(place string) response.Policy { return collabtools.Tracking(a.approvals.Config(), place) }
}
