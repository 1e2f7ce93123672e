// Package workqueue folds the queue of external effects still to be executed: runs of agents, and everything requested
// by work.scheduled. It is a decision table: a worker takes an item in the transaction that appends the lease. Folding
// has no external effects; only agent/worker executes them, and a replay never runs it. Events of an imported log
// change nothing here.
//
// Items with the same key are executed one after the other. A key waits while its first item is leased or not due;
// keys of one owner do not block those of another. The cost of finding ready items and of each event does not depend
// on the number of waiting items.
package workqueue

import "github.com/pronto-lab/openclawd/coordination/work"

// Item is a queued effect.
type Item struct {
	Seq      int64  // of the event that requested it, which has its data
	EffectID string // permanently unique
	Kind     string
	Key      string
	Pool     string
	Owner    string
	State    State
	Since    int64 // ms since 1970: when it was requested
	DueAt    int64 // ms since 1970: earliest start; 0 is at once
	Attempt  int   // number of attempts started
	Most     int   // maximum number of attempts; 0: the handler's default

	LeaseUntil int64 // ms since 1970; 0 if not leased, or without limit
	Error      string
}

// Holds reports whether an item read now is still leased as when an attempt began, so that the attempt's worker may
// record its result. A resent item counts its attempts from the start again; the end of the lease distinguishes these.
func (i *Item) Holds(held *Item) bool {
	return i.State == Leased && i.Seq == held.Seq && i.Attempt == held.Attempt && i.LeaseUntil == held.LeaseUntil
}

// State is the state of an item. Finished and cancelled items have no row.
type State string

const (
	Waiting State = "waiting"
	Leased  State = "leased"
	Dead    State = "dead"
)

// KindRun is the Kind of agent runs: run.queued requests them, run.started leases them, and the end of a run removes
// them. Their EffectID is "run/" and the run's id, their key the session's, their owner the agent, their pool the
// lane.
const KindRun = work.KindRun

// KindJob is the Kind of flows between agents: a2a.job.created requests them, a2a.job.running postpones them, and the
// end of a job removes them. Their EffectID is "job/" and the job's id, and so is their key; their owner is the
// target, their pool work.PoolJobs.
const KindJob = work.KindJob
