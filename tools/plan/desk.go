// Package plan holds the tools with which agents submit plans and decide those of others, and the gate that keeps tools closed until a plan is
// approved. Package coordination/plan decides; a Desk reads what it has to know and appends what it says, in one transaction each.
package plan

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

// Log is what a Desk needs of the store, with the projections plan, task, conversation, session, run and work in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Runs is what a Desk needs of a runner: whose plan is decided is told.
type Runs interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// Options of New. All are required.
type Options struct {
	Log       Log
	Runs      Runs
	Config    func() *config.Config
	Now       func() time.Time
	NewPlanID func() string // plan_ and 20 hexadecimal digits that nobody has had
}

// Desk is where plans are submitted and decided. Its methods may be called by many goroutines.
type Desk struct{ o Options }

// New makes a Desk.
func New(o Options) *Desk { return &Desk{o} }

// Names of the tools. None of them ever has a gate: it is with them that gates open.
const (
	nameSubmit  = "plan_submit"
	nameApprove = "plan_approve"
	nameReject  = "plan_reject"
	nameStatus  = "plan_status"
)

// Tools are all tools of this package.
func (d *Desk) Tools() []tools.Tool {
	return []tools.Tool{d.submitTool(), d.approveTool(), d.rejectTool(), d.statusTool()}
}
