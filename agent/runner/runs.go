package runner

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
)

// Log is the part of the store that Runs needs, with the projections session, run and work in it.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	// Fatal distinguishes errors of the whole file from those of a statement.
	Fatal(err error) bool
}

// RunsOptions are the options of NewRuns. All but Then and Backoff are required.
type RunsOptions struct {
	Log    Log
	Now    func() time.Time
	NewID  func() string // a new id
	Logger *slog.Logger

	// Then returns the consequences of the end of a run, appended with it. It is called for each final end, in the
	// transaction that ends the run, so it reads only from tx and is fast. The consequences of one end are visible
	// when it is called for the next, also when Stop ends many. It is called again if the end was not stored, so it
	// has no side effects. An error, a panic, or events the log rejects are logged, and the run ends without them; an
	// error of the whole file delays the end. nil: no consequences.
	Then func(tx eventstore.Tx, e *EndedRun) ([]eventstore.StreamAppend, error)

	// Backoff is the delay before the first, second, ... retry; default: from half a second to half a minute.
	Backoff func(again int) time.Duration
}

// Runs knows the runs that go on in this process: it stops them, ends them, and notifies those who follow them or wait for them. It is separate from
// the Runner, which performs them, so that tools that a Runner offers can stop runs. All of its methods may be called by many goroutines.
type Runs struct {
	log     Log
	now     func() time.Time
	newID   func() string
	logger  *slog.Logger
	next    func(tx eventstore.Tx, e *EndedRun) ([]eventstore.StreamAppend, error) // RunsOptions.Then
	backoff func(again int) time.Duration

	mu   sync.Mutex
	runs map[string]*activeRun // runs started in this process, by id, until their end is reported

	followers subscribers
	waits     waiters
	ends      pendingEnds
}

// NewRuns returns Runs.
func NewRuns(o RunsOptions) *Runs {
	if o.Backoff == nil {
		o.Backoff = backoff.Backoff{First: 500 * time.Millisecond, Most: 30 * time.Second}.After
	}
	return &Runs{log: o.Log, now: o.Now, newID: o.NewID, logger: o.Logger, next: o.Then, backoff: o.Backoff, runs: map[string]*activeRun{}}
}

// running returns a run started in this process and not over, or nil.
func (r *Runs) running(runID string) *activeRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[runID]
}
