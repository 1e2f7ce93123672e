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
	taskfile.Task // without Progress and Delegations, unless it was asked for by its id
	AgentID       string
	LastProgress  string
	ProgressCount int
	EndedMs       int64 // 0: not over
	Focus         bool  // its agent has it in focus
	Gone          bool  // it was known from a file, which is not there any more
	Version       int64 // of the task by the last event that changed it; 0: it is known from a file alone
	Seq           int64 // of the last event that changed it, or, by its id, one of its delegations: derivedFromSeq
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
}

// Board is how an agent's tasks stand.
type Board struct {
	AgentID string
	Counts  map[string]int // of tasks that are not over, by state
	Focus   *Row           // nil for none
	LastMs  int64          // of the newest event of its open tasks, and of the one that ended last
	Seq     int64          // likewise
}

// File is what was written of a file by us, or seen of it.
type File struct {
	Path     string // workspace-<agent>/tasks/<id>.md, workspace-<agent>/CURRENT_TASK.md, workspace-<agent>/task-history/<month>.md
	SHA256   string // that it was to have by the last event about it; "" if it was to be removed, or was
	Previous string // that it had before it was written; "": it was not there, or was put aside since
	Through  int64  // of a month: seq of the end of the last task in it
	Seq      int64
}
