// Package runner runs agents: it accepts messages, answers them by asking models and calling tools, and tells what happens meanwhile. It is
// the worker.Handler of runs, and the gateway's Runs.
//
// It promises
//   - that a message which was accepted is on disk, once for each run id, and that its run has exactly one end, whatever fails;
//   - that a plain run costs three commits: when it is accepted, when it begins, when it ends. Each call of a tool costs one more, and so
//     does each answer that asks for tools: what was done is on disk before the next is begun;
//   - that the text of a run is what that run has said, and nothing older;
//   - that what it tells of a run comes in order, counted from 1, and that the end is told when it is on disk;
//   - that nothing waits for a run but its row: no goroutine and no timer until it begins.
//
// A model is asked again, or another one, only with the idempotency key of the same step.
package runner

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is what a Runner needs of the store, with the projections session, run and work in it.
type Log interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
	Head(ctx context.Context) (eventstore.Head, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	// Fatal tells an error that concerns the whole file from one that concerns a statement.
	Fatal(err error) bool
}

// Options of New.
type Options struct {
	Log    Log
	Config func() *config.Config       // what is in force; a run keeps to what was when it began
	Models func() *catalogue.Catalogue // of the same configuration
	Tools  tool.Box                    // nil offers none
	Prompt *prompt.Builder
	Now    func() time.Time
	NewID  func() string // an id that nobody has had
	Logger *slog.Logger

	// Then says what follows from the end of a run, and is appended with it. It is asked for each one that is over and not asked for once more,
	// in the transaction that ends it, and so reads nothing but tx and is quick. What has followed from one end is in the tables when it is asked
	// about the next, also where Stop ends many. It is asked again about an end that was not stored, so it does nothing else. An error, a panic,
	// or what the log would not take, is logged, and the run ends without it; but an error that concerns the whole file keeps the run from
	// ending for now. nil is nothing.
	Then func(tx eventstore.Tx, e *Ending) ([]eventstore.StreamAppend, error)

	// Wanted reports whether a run that is about to begin, or to be asked for once more after a restart, is still wanted: one that is not ends as
	// if it had been stopped. It is asked in the transaction that would append that, and so reads nothing but tx and is quick. An error keeps the
	// run from beginning for now. nil wants all.
	Wanted func(tx eventstore.Tx, asked *coordination.RunQueued) (bool, error)

	// Remembered is what a model is told besides the transcript of a session: what the agent has noticed there without being asked. It is read with
	// the transcript, whatever has caused the run. nil is nothing.
	Remembered func(tx eventstore.Tx, key coordination.SessionKey, now time.Time) (string, error)

	Limits Limits
	// Grace is how long a tool may take to heed that its run is over, and how long the end of a run is tried to be written once the
	// program has been told to end; default: DefaultGrace.
	Grace time.Duration
	// Backoff is how long to wait before something is tried again, for the first time, the second, and so on; default: DefaultBackoff.
	Backoff func(again int) time.Duration
}

// Limits bound what is accepted, and what one run may do. Zero means the default.
type Limits struct {
	SessionWaiting int // runs that wait in one session
	Waiting        int // runs that wait in all

	ModelCalls  int // of a run, those that failed included
	ToolCalls   int // of a run
	AnswerCalls int // of tools, in one answer of a model
	Repeats     int // how often in a row a tool may be called with the same arguments and give the same result
	Retries     int // how often a model is asked again after it has failed

	ArgumentBytes int // of a call
	ToolBytes     int // of what a tool says, that a model is told
	AnswerBytes   int // of an answer of a model

	HistoryMessages int // that are read of a transcript
	HistoryBytes    int

	RetryAfter time.Duration // that a provider may ask to wait before another model is asked instead
}

// Defaults.
const (
	DefaultSessionWaiting  = 5_000
	DefaultWaiting         = 100_000
	DefaultModelCalls      = 40
	DefaultToolCalls       = 100
	DefaultAnswerCalls     = 16
	DefaultRepeats         = 4
	DefaultRetries         = 2
	DefaultArgumentBytes   = 256 << 10
	DefaultToolBytes       = 64 << 10
	DefaultAnswerBytes     = 256 << 10
	DefaultHistoryMessages = 1_000
	DefaultHistoryBytes    = 8 << 20
	DefaultRetryAfter      = time.Minute
	DefaultGrace           = 2 * time.Second
)

// leaseMargin is how much longer than its run a lease holds, so that the end can be written.
const leaseMargin = 30 * time.Second

// DefaultBackoff doubles from half a second to half a minute.
func DefaultBackoff(again int) time.Duration {
	return min(500*time.Millisecond<<min(again-1, 10), 30*time.Second)
}

func (l Limits) withDefaults() Limits {
	l.SessionWaiting = cmp.Or(l.SessionWaiting, DefaultSessionWaiting)
	l.Waiting = cmp.Or(l.Waiting, DefaultWaiting)
	l.ModelCalls = cmp.Or(l.ModelCalls, DefaultModelCalls)
	l.ToolCalls = cmp.Or(l.ToolCalls, DefaultToolCalls)
	l.AnswerCalls = cmp.Or(l.AnswerCalls, DefaultAnswerCalls)
	l.Repeats = cmp.Or(l.Repeats, DefaultRepeats)
	l.Retries = cmp.Or(l.Retries, DefaultRetries)
	l.ArgumentBytes = cmp.Or(l.ArgumentBytes, DefaultArgumentBytes)
	l.ToolBytes = cmp.Or(l.ToolBytes, DefaultToolBytes)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, DefaultAnswerBytes)
	l.HistoryMessages = cmp.Or(l.HistoryMessages, DefaultHistoryMessages)
	l.HistoryBytes = cmp.Or(l.HistoryBytes, DefaultHistoryBytes)
	l.RetryAfter = cmp.Or(l.RetryAfter, DefaultRetryAfter)
	return l
}

// Runner runs agents. All of its methods may be called by many goroutines.
type Runner struct {
	o      Options
	limits Limits

	mu   sync.Mutex
	runs map[string]*active // that have begun in this process, by id, until their end is told

	followers followers
	waits     waits
	ends      ends

	leftBehind atomic.Int64
}

// New makes a Runner. It does nothing by itself: a worker has to be given it as the handler of work.KindRun.
func New(o Options) *Runner {
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	if o.Backoff == nil {
		o.Backoff = DefaultBackoff
	}
	return &Runner{o: o, limits: o.Limits.withDefaults(), runs: map[string]*active{}}
}

// Stats are figures of a Runner.
type Stats struct {
	Running    int   // runs that have begun and are not over
	Waiters    int   // callers of Wait
	LeftBehind int64 // tools that still run though their runs are over
}

// Stats gives the figures of now.
func (r *Runner) Stats() Stats {
	r.mu.Lock()
	running := len(r.runs)
	r.mu.Unlock()
	return Stats{Running: running, Waiters: r.waits.count(), LeftBehind: r.leftBehind.Load()}
}

// running is a run that has begun in this process and is not over, or nil.
func (r *Runner) running(runID string) *active {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[runID]
}

// pause waits, unless ctx ends before; then it gives the cause.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
