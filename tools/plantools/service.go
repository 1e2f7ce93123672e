// Package plantools defines the tools with which agents submit plans and decide those of others, and the gate that keeps tools closed
// until a plan is approved. Package coordination/plan decides; a service reads the inputs and appends the decision in one transaction.
package plantools

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

// Log is the part of the store that is used here, with the projections plans, tasks, conversations, sessions, runs and work.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Queue queues the runs that report decisions.
type Queue interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// Options of New. All are required.
type Options struct {
	Log       Log
	Queue     Queue
	Config    func() *config.Config
	Now       func() time.Time
	NewPlanID func() string // returns plan_ and 20 new hexadecimal digits
}

// Service submits and decides plans. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service { return &Service{o} }

// Names of the tools. None of them is ever gated: they open the gates.
const (
	nameSubmit  = "plan_submit"
	nameApprove = "plan_approve"
	nameReject  = "plan_reject"
	nameStatus  = "plan_status"
)

// Tools returns the tools of this package.
func (s *Service) Tools() []tools.Tool {
	return []tools.Tool{s.submitTool(), s.approveTool(), s.rejectTool(), s.statusTool()}
}
