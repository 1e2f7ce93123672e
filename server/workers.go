package server

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// usualLease is the lease of remote workers under a configuration that was never read.
const usualLease = 30 * time.Second

// newWorkers keeps the workers on other machines.
func (p *Program) newWorkers(a *agents, inForce func() *config.Config) *remote.Workers {
	return remote.New(remote.Options{Now: p.opts.Now, NewID: uuid.NewString, Logger: p.opts.Logger.With("component", "workers"),
		Lease:   func() time.Duration { return cmp.Or(inForce().Gateway.WorkerLease, usualLease) },
		Changed: func() { a.worker.Wake() }})
}

// addWorkerPools adds the pools of runs for workers: as large as what the workers can take, or as the main lane for agents whose runs are done
// here by now, or that are gone.
func (a *agents) addWorkerPools(pools map[string]int, c *config.Config) {
	for i := range c.Agents {
		if c.Agents[i].Runs.Remote() {
			a.workerPools.Store(strings.ToLower(c.Agents[i].ID), true)
		}
	}
	a.workerPools.Range(func(key, _ any) bool {
		agent, _ := key.(string)
		where := c.PlacementOf(agent)
		if pools[run.WorkerPool(agent)] = pools[run.LaneMain]; where.Remote() {
			pools[run.WorkerPool(agent)] = a.workers.Capacity(agent, where.Labels)
		}
		return true
	})
}

// readWorkerPools finds what earlier processes have queued for workers.
func (p *Program) readWorkerPools(ctx context.Context, a *agents) error {
	return p.log.View(ctx, func(tx *sql.Tx) error {
		lanes, err := workqueue.Lanes(ctx, tx)
		for i := range lanes {
			if agent, is := strings.CutPrefix(lanes[i].Pool, run.WorkerPools); is {
				a.workerPools.Store(agent, true)
			}
		}
		return err
	})
}

// workerless is an agent whose runs wait for a worker that is not there.
type workerless struct {
	agent   string
	waiting int
	labels  []string
}

// withoutWorker finds such agents.
func (a *agents) withoutWorker(c *config.Config, lanes []workqueue.Lane) (list []workerless) {
	for i := range lanes {
		agent, is := strings.CutPrefix(lanes[i].Pool, run.WorkerPools)
		if !is || lanes[i].Waiting == 0 {
			continue
		}
		if where := c.PlacementOf(agent); where.Remote() && !a.workers.Able(agent, where.Labels) {
			list = append(list, workerless{agent, lanes[i].Waiting, where.Labels})
		}
	}
	return list
}

func (w *workerless) reason() health.Reason {
	start, with := "openclawd worker --gateway URL", ""
	if len(w.labels) > 0 {
		start += " --label " + strings.Join(w.labels, " --label ")
		with = " with " + strings.Join(w.labels, ", ")
	}
	return health.Reason{Code: health.CodeWorkerMissing, Subject: w.agent,
		What: fmt.Sprintf("%s of %s wait for a worker%s on another machine, and none is connected", output.Count(int64(w.waiting), "run"), w.agent, with),
		Hint: "start one there: " + start + "; openclawd worker list shows those that are connected"}
}

// poolLabel is the label of a pool in metrics, which have none of agents.
func poolLabel(pool string) string {
	if strings.HasPrefix(pool, run.WorkerPools) {
		return strings.TrimSuffix(run.WorkerPools, "/")
	}
	return pool
}
