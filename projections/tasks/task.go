// Package tasks folds the events of tasks, and the task files of tasks without events, into current and past tasks. It
// is a decision table: the state of a task is read from it within the transaction that appends. Events of an imported
// log change nothing here: their tasks are in files, and are known from these. The cost of an event and of a decision
// does not depend on the number of finished tasks.
//
// A file that is older than the log determines its task until the task has events of its own. A file that was changed
// while another gateway managed the tasks always does.
package tasks

import (
	"errors"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// ErrCursor says that a cursor was not returned by List.
var ErrCursor = errors.New("not a cursor of a task list")

// Row is a task in the shape of its file.
type Row struct {
	taskfile.Task // without Progress and Delegations, unless selected by id, or whole
	AgentID       string
	LastProgress  string
	ProgressCount int
	EndedMs       int64 // 0: open
	Focus         bool  // in its agent's focus
	Gone          bool  // it was known from a file that no longer exists
	Version       int64 // version of the task at the last event that changed it; 0: it is known only from a file
	Seq           int64 // seq of the last event that changed it, or its delegations if included: derivedFromSeq
}

// Filter selects tasks. Zero values select all.
type Filter struct {
	Agents      []string
	Statuses    []string
	Priority    string
	WorkSession string
	Open        *bool
	Text        string // part of the description, case-insensitive
	After       string // a cursor returned by List
	Limit       int
	Whole       bool // include progress and delegations
}

// Board is a summary of an agent's tasks.
type Board struct {
	AgentID string
	Counts  map[string]int // open tasks by state
	Focus   *Row           // nil if none
	LastMs  int64          // of the newest event of its open tasks and of the last finished one
	Seq     int64          // likewise
}
