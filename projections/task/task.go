// Package task folds the events of tasks, and what files say of tasks that have no events, into the tasks that there are and were. It is a
// decision table: how a task stands is read from it within the transaction that appends. Events of an imported log change nothing here: their
// tasks are in files, and are known from these. What an event changes, and what a decision reads, costs the same whatever is over.
//
// What a file says that was there before the log knew of it counts until the task has events of its own. What a file says that was changed while
// another gateway kept the tasks always counts.
package task

import (
	"errors"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// ErrCursor says that a cursor is none that List has given.
var ErrCursor = errors.New("no cursor of a list of tasks")

// Row is a task as it is listed: as its file has it.
type Row struct {
	taskfile.Task // without Progress and Delegations, unless it was asked for by its id, or as a whole
	AgentID       string
	LastProgress  string
	ProgressCount int
	EndedMs       int64 // 0: not over
	Focus         bool  // its agent has it in focus
	Gone          bool  // it was known from a file, which is not there any more
	Version       int64 // of the task by the last event that changed it; 0: it is known from a file alone
	Seq           int64 // of the last event that changed it, or, if it has them, one of its delegations: derivedFromSeq
}

// Filter selects tasks. Zero values select all.
type Filter struct {
	Agents      []string
	Statuses    []string
	Priority    string
	WorkSession string
	Open        *bool
	Text        string // part of the description, capitals alike
	After       string // a cursor that List gave
	Limit       int
	Whole       bool // with progress and delegations
}

// Board is how an agent's tasks stand.
type Board struct {
	AgentID string
	Counts  map[string]int // of tasks that are not over, by state
	Focus   *Row           // nil for none
	LastMs  int64          // of the newest event of its open tasks, and of the one that ended last
	Seq     int64          // likewise
}
