package server

import (
	"context"
	_ "time/tzdata" // schedules name time zones, also on machines without their database

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/scheduler"
)

// checkSlots is the maximum number of concurrent checks of scheduled jobs.
const checkSlots = 4

func (p *Program) newSchedules(a *agents, inForce func() *config.Config) *scheduler.Service {
	return scheduler.New(scheduler.Options{Log: p.log, Queue: a.queue, Config: inForce, Workspace: p.workspaceOf, Commands: a.commands,
		Tools: func() tool.Box { return a.tools }, Now: p.opts.Now, NewID: uuid.NewString,
		Logger: p.opts.Logger.With("component", "schedules")})
}

// runSchedules begins scheduled jobs until ctx ends. It starts when the tables and the log are up to date.
func (p *Program) runSchedules(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	if !p.catchesUp(ctx) {
		return nil
	}
	p.answered.wait(ctx)
	return p.agents.schedules.Run(ctx)
}
