package server

import (
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// usualLease is the lease of remote workers under a configuration that was never read.
const usualLease = 30 * time.Second

// newWorkers keeps the workers on other machines.
func (p *Program) newWorkers(a *agents, inForce func() *config.Config) *remote.Workers {
	return remote.New(remote.Options{Now: p.opts.Now, NewID: uuid.NewString, Logger: p.opts.Logger.With("component", "workers"),
		Lease:   func() time.Duration { return cmp.Or(inForce().Gateway.WorkerLease, usualLease) },
		Changed: func() { a.worker.Wake() }})
}

// addWorkerPools adds the pools of runs that were queued for workers: as large as what the workers can take, or as the main lane for agents
// whose runs are done here by now.
func (a *agents) addWorkerPools(pools map[string]int, c *config.Config) {
	for i := range c.Agents {
		one := &c.Agents[i]
		id := strings.ToLower(one.ID)
		if one.Runs.Remote() {
			pools[run.WorkerPool(id)] = a.workers.Capacity(id, one.Runs.Labels)
		} else {
			pools[run.WorkerPool(id)] = pools[run.LaneMain]
		}
	}
}
