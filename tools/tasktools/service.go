// Package tasktools defines the tools with which agents manage their tasks, and keeps other tools from agents without a task. Package
// coordination/task decides; a service reads the inputs and appends the decision in one transaction, so concurrent changes are not lost
// and a caller that expects another version is refused.
package tasktools

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
)

// Log is the part of the store that is used here, with the projections tasks, conversations and runs.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Spawner is the part of the messenger that retries a delegation.
type Spawner interface {
	Spawn(ctx context.Context, r messenger.SpawnRequest) (messenger.SpawnResult, error)
}

// Options of New. All but Then are required.
type Options struct {
	Log       Log
	Spawner   Spawner
	Now       func() time.Time
	NewID     func() string // returns a new UUID
	NewTaskID func() string // returns task_ and 20 new hexadecimal digits
	Then      []Then        // consequences of each change
}

// Service manages the tasks of agents. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service { return &Service{o} }

// Tools returns the tools of this package.
func (s *Service) Tools() []tools.Tool {
	return []tools.Tool{
		s.startTool(), s.updateTool(), s.completeTool(), s.cancelTool(), s.approveTool(), s.rejectTool(), s.blockTool(), s.resumeTool(),
		s.backlogAddTool(), s.backlogPickTool("task_pick_backlog"), s.backlogPickTool("task_backlog_pick"),
		s.statusTool(), s.listTool(), s.verifyTool(),
	}
}
