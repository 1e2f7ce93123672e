// Package work folds into one queue what has still to be done outside of the log: runs of agents, and everything that work.scheduled asks
// for. It is a decision table: who takes something does so in the transaction that appends the lease. Folding does nothing outside; only
// agent/worker does, and a replay never runs that. Events of an imported log change nothing here.
//
// What has the same key is done one after the other. A key waits while its first item is leased or not due; keys of one owner do not
// hold up those of another. Looking for what is ready, and everything that an event changes, costs the same whatever waits.
package work

import "github.com/pronto-lab/openclawd/coordination/work"

// Item is something that has to be done.
type Item struct {
	Seq      int64  // of the event that asked for it: its data is there
	EffectID string // unique for ever
	Kind     string
	Key      string
	Pool     string
	Owner    string
	State    State
	Since    int64 // ms since 1970: when it was asked for
	DueAt    int64 // ms since 1970: not before; 0 is at once
	Attempt  int   // how many were begun
	Most     int   // attempts; 0 is as the handler has it

	LeaseUntil int64 // ms since 1970; 0 while it is not leased, or for ever
	Error      string
}

// Holds says whether an item that was read now is still leased as it was when an attempt at it began: whoever made that attempt may say what became of
// it. What is sent again counts its attempts anew; the end of the lease tells these apart.
func (i *Item) Holds(begun *Item) bool {
	return i.State == Leased && i.Seq == begun.Seq && i.Attempt == begun.Attempt && i.LeaseUntil == begun.LeaseUntil
}

// State is where an item is. What is done or cancelled has no row.
type State string

const (
	Waiting State = "waiting"
	Leased  State = "leased"
	Dead    State = "dead"
)

// KindRun is the Kind of runs of agents: run.queued asks for them, run.started leases them, and what ends a run removes them. Their
// EffectID is "run/" and the run's id; their key the session's, their owner the agent, their pool the lane.
const KindRun = work.KindRun

// KindJob is the Kind of flows between agents: a2a.job.created asks for them, a2a.job.running puts them off, and what ends a job removes
// them. Their EffectID is "job/" and the job's id, and so is their key; their owner the target, their pool work.PoolJobs.
const KindJob = work.KindJob
