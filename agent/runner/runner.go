// Package runner runs agents: it answers messages by calling models and tools, and reports progress. Runner implements worker.Handler for
// runs; Runs stops runs, and lets callers wait for them and follow them.
//
// It guarantees
//   - that an accepted message is on disk, once per run id, and that its run has exactly one end, whatever fails;
//   - that a plain run costs three commits: accepted, started, ended. Each tool call costs one more, and so does each answer that requests
//     tools: a step is on disk before the next one starts;
//   - that the text of a run contains nothing of another run;
//   - that a run's updates are sent in order, numbered from 1, and its end only after that is on disk;
//   - that a waiting run costs only its row: no goroutine and no timer until it starts. That holds for one, too, that waits in a call of a
//     tool for a decision of a person: it is parked, survives a restart, and goes on with that call.
//
// A model is called again, or another one, only with the idempotency key of the same step.
package runner

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Options of New. Queue, Runs, Config, Models and Prompt are required.
type Options struct {
	Queue  *runqueue.Queue             // accepts runs
	Runs   *Runs                       // knows the active runs, and ends them
	Config func() *config.Config       // configuration in force; a run uses the one in force at its start
	Models func() *catalogue.Catalogue // for the same configuration
	Tools  tool.Box                    // nil: no tools
	Prompt *prompt.Builder

	// Wanted reports whether a run that is about to start, or to be retried after a restart, is still wanted;
	// otherwise it ends as if stopped. It is called in the transaction that appends this, so it reads only from tx and
	// is fast. An error delays the start. nil: all are wanted.
	Wanted func(tx eventstore.Tx, asked *coordination.RunQueued) (bool, error)

	// Remembered returns context for the model beside the transcript: what the agent has observed in the session. It
	// is read with the transcript, for every run. nil: none.
	Remembered func(tx eventstore.Tx, key coordination.SessionKey, now time.Time) (string, error)

	// Pictures returns a picture that lies beside the log, by the SHA-256 of its content, for models that take pictures; nil if it is not
	// there any more. nil: none are shown.
	Pictures func(sha256 string) []byte

	// Media stores the files that the final answer of a run names, if the answer is posted; EndedRun.Media has them. It may take a while, and is
	// called again if the end of the run could not be written. nil: lines that name files are text.
	Media func(ctx context.Context, asked *coordination.RunQueued, agentID, text string) []delivery.Named

	// Workers do the runs of agents that are configured to run elsewhere. nil: all are done here.
	Workers *remote.Workers

	Transcripts *sessions.Cache // keeps messages that were read, possibly shared with others; nil: none are kept

	Limits Limits
	// Grace is how long a tool may continue after its run is over, and how long writing a run's end is retried during
	// a shutdown; default: DefaultGrace.
	Grace time.Duration
}

// Limits bound a single run. Zero means the default.
type Limits struct {
	ModelCalls  int // model calls per run, failed ones included
	ToolCalls   int // tool calls per run
	AnswerCalls int // tool calls per answer
	Repeats     int // consecutive equal tool calls with equal results
	Retries     int // retries of a failed model call

	ArgumentBytes int // bytes of a call's arguments
	ToolBytes     int // bytes of a tool's output shown to the model
	AnswerBytes   int // bytes of a model's answer

	HistoryMessages int // transcript messages read
	HistoryBytes    int

	RetryAfter time.Duration // longest requested delay before another model is used instead
}

// Defaults.
const (
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

// leaseMargin is how much longer than its run a lease lasts, so that the end can be written.
const leaseMargin = 30 * time.Second

func (l Limits) withDefaults() Limits {
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

// Runner runs agents. It is safe for concurrent use.
type Runner struct {
	*Runs
	o      Options
	limits Limits

	leftBehind atomic.Int64
}

// New returns a Runner. It does nothing on its own: register it with a worker as the handler of work.KindRun.
func New(o Options) *Runner {
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	return &Runner{Runs: o.Runs, o: o, limits: o.Limits.withDefaults()}
}

// Queue accepts a run: see runqueue.Queue.
func (r *Runner) Queue(ctx context.Context, ask run.Ask) (run.Accepted, error) {
	return r.o.Queue.Queue(ctx, ask)
}

// Stats are statistics of a Runner.
type Stats struct {
	Running    int   // active runs
	Waiters    int   // callers of Wait
	LeftBehind int64 // tools still running after the end of their runs
}

// Stats returns the current statistics.
func (r *Runner) Stats() Stats {
	r.mu.Lock()
	running := 0
	for _, a := range r.runs {
		if !a.parked.Load() {
			running++
		}
	}
	r.mu.Unlock()
	return Stats{Running: running, Waiters: r.waits.count(), LeftBehind: r.leftBehind.Load()}
}
