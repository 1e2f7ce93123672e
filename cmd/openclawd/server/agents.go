package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	decide "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools"
	agenttools "github.com/pronto-lab/openclawd/tools/agents"
	sessiontools "github.com/pronto-lab/openclawd/tools/sessions"
)

// runDrainTime is how long runs under way may go on once the program is told to end.
const runDrainTime = 5 * time.Second

// agents are those who answer in sessions, and what they need for it.
type agents struct {
	worker    *worker.Worker
	runner    *runner.Runner
	tools     *tools.Registry
	transport *http.Transport // to endpoints of models, whatever configuration is in force
	figures   *runFigures
}

// openAgents puts together what answers in sessions. Where another gateway produces, nothing of it is there.
func (p *Program) openAgents() error {
	if p.opts.Follow {
		return nil
	}
	logger := p.opts.Logger.With("component", "agents")
	inForce := p.newConfiguration().InForce
	a := &agents{transport: openai.NewTransport(), figures: newRunFigures()}
	models := &models{make: func(c *config.Config) *catalogue.Catalogue {
		return catalogue.New(c, catalogue.Options{Getenv: p.opts.getenv, Transport: a.transport})
	}}
	var err error
	a.tools, err = tools.New(tools.Options{Config: inForce, Logger: logger, Tools: append(sessiontools.Tools(sessiontools.Options{
		Log: p.log, Now: p.opts.Now, NewID: uuid.NewString, CheckModel: func(ref string) error {
			_, err := models.of(inForce()).Open(ref)
			return err
		}}), agenttools.List())})
	if err != nil {
		return fmt.Errorf("register tools: %w", err)
	}
	a.runner = runner.New(runner.Options{
		Log: p.log, Config: inForce, Models: func() *catalogue.Catalogue { return models.of(inForce()) }, Tools: a.tools,
		Prompt: prompt.New(prompt.Options{Now: p.opts.Now, Logger: logger, Workspace: p.workspaceOf}),
		Now:    p.opts.Now, NewID: uuid.NewString, Logger: logger,
	})
	a.runner.Follow(a.figures.note)
	a.worker = worker.New(worker.Options{
		Log: p.log, Handlers: map[string]worker.Handler{work.KindRun: a.runner}, Pools: func() map[string]int { return inForce().Lanes() },
		Now: p.opts.Now, Logger: p.opts.Logger.With("component", "work"), Drain: runDrainTime,
	})
	p.agents = a
	return nil
}

// workspaceOf is the directory of an agent's files, "" for none.
func (p *Program) workspaceOf(agentID string) string {
	return prompt.Directory(p.newConfiguration().InForce(), p.opts.StateDir, cmp.Or(p.opts.getenv("HOME"), p.opts.StateDir), agentID)
}

// runWork has agents answer until ctx ends, and then lets them finish what they are at for a while.
func (p *Program) runWork(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	defer p.agents.transport.CloseIdleConnections()
	return p.agents.worker.Run(ctx)
}

// models keeps the catalogue of the configuration in force: connections outlive it, what it says of models does not.
type models struct {
	make func(*config.Config) *catalogue.Catalogue

	mu     sync.Mutex
	config *config.Config
	newest *catalogue.Catalogue
}

func (m *models) of(c *config.Config) *catalogue.Catalogue {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.config != c {
		m.config, m.newest = c, m.make(c)
	}
	return m.newest
}

// workOf is what operators may do about what waits; nil: nothing of it is done here.
func (a *agents) workOf() monitor.Work {
	if a == nil {
		return nil
	}
	return a
}

// runEffect begins the ids of those effects that are runs.
const runEffect = work.KindRun + "/"

// Resend implements monitor.Work.
func (a *agents) Resend(ctx context.Context, effectID, by string) error {
	return workError(a.worker.Resend(ctx, effectID, by))
}

// Cancel implements monitor.Work. A run is stopped, also while it is under way.
func (a *agents) Cancel(ctx context.Context, effectID, by string) error {
	runID, isRun := strings.CutPrefix(effectID, runEffect)
	if !isRun {
		return workError(a.worker.Cancel(ctx, effectID, by))
	}
	stopped, err := a.runner.Stop(ctx, run.Stop{RunID: runID, Reason: "rpc", By: by})
	if refused, ok := errors.AsType[*run.Refusal](err); ok {
		return &monitor.WorkError{Text: refused.Text, Mend: refused.Mend}
	}
	if err == nil && len(stopped) == 0 {
		return &monitor.WorkError{Unknown: true, Text: fmt.Sprintf("no run %q is queued or running", runID), Mend: "GET /api/runs lists runs"}
	}
	return err
}

// workError gives what the queue refuses the type of the API.
func workError(err error) error {
	refused, ok := errors.AsType[*decide.Refusal](err)
	if !ok {
		return err
	}
	return &monitor.WorkError{Unknown: refused.Reason == decide.CodeUnknown, Text: refused.Error(), Mend: refused.Mend}
}
