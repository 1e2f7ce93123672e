// Package task holds the tools with which agents keep their tasks, keeps account of what they delegate for them, and guards other tools from
// agents that have no task. Package coordination/task decides; a Desk reads what it has to know and appends what it says, in one transaction
// each: nothing is lost where many change a task at a time, and who expects another version is told.
package task

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// Log is what a Desk needs of the store, with the projections task, conversation and run in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Spawner is what a Desk needs of the coordinator of agents, to try a delegation again.
type Spawner interface {
	Spawn(ctx context.Context, r a2a.SpawnRequest) (a2a.SpawnResult, error)
}

// Options of New. All but Then are required.
type Options struct {
	Log       Log
	Spawner   Spawner
	Now       func() time.Time
	NewID     func() string // a UUID that nobody has had
	NewTaskID func() string // task_ and 20 hexadecimal digits that nobody has had
	Then      []Then        // what follows from each change
}

// Desk is where agents keep their tasks. Its methods may be called by many goroutines.
type Desk struct{ o Options }

// New makes a Desk. It implements a2a.Tasks.
func New(o Options) *Desk { return &Desk{o} }

// Tools are all tools of this package.
func (d *Desk) Tools() []tools.Tool {
	return []tools.Tool{
		d.startTool(), d.updateTool(), d.completeTool(), d.cancelTool(), d.approveTool(), d.rejectTool(), d.blockTool(), d.resumeTool(),
		d.backlogAddTool(), d.backlogPickTool("task_pick_backlog"), d.backlogPickTool("task_backlog_pick"),
		d.statusTool(), d.listTool(), d.verifyTool(),
	}
}
