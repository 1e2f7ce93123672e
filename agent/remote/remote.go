// Package remote has workers on other machines do runs. The run itself, its steps and its decisions stay here, where the log is; a worker
// asks models and calls tools, one step after the other, and reports what they answer.
//
// It guarantees
//   - that a run is with one worker at a time, which is told to it once its start is on disk;
//   - that what a worker says counts only with the id of a lease that was made here, the attempt, and the number of the step that is being
//     done: anything later or repeated changes nothing;
//   - that a worker that is silent for as long as a lease lasts loses its runs, and its registration;
//   - that nothing waits for a worker that is not there: see Workers.Take.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
)

// Options of New. All are required.
type Options struct {
	Now    func() time.Time
	NewID  func() string // an id that cannot be guessed
	Lease  func() time.Duration
	Logger *slog.Logger
	// Changed is called when a worker has become able to take a run. It must not block.
	Changed func()
}

// Workers are the workers that are connected. They are safe for concurrent use.
type Workers struct {
	opts Options

	mu      sync.Mutex
	workers map[string]*worker
	leases  map[string]*lease
	demands []*demand      // runs that have started and have no worker yet, the oldest first
	losses  map[string]int // by run: how often in a row a worker was lost before a step was done
	stats   Stats
}

// Stats are counters since the start, and the present state.
type Stats struct {
	Workers, Slots, Busy int
	Leases, Lost         int64 // given, and lost with their worker
	Steps                int64 // done
	Stale                int64 // reports refused, because the lease or the step is over
}

type worker struct {
	Registration
	id       string
	since    time.Time
	seen     time.Time
	gone     *time.Timer
	polls    []*poll // it waits for a run
	leases   map[string]*lease
	finished int64
}

// poll is a worker's question for a run.
type poll struct{ got chan struct{} }

type demand struct {
	run Run
	got chan *lease
}

// Run is a run that needs a worker.
type Run struct {
	RunID, AgentID, SessionKey string
	Attempt                    int
	Labels                     []string
}

// New returns Workers.
func New(o Options) *Workers {
	return &Workers{opts: o, workers: map[string]*worker{}, leases: map[string]*lease{}, losses: map[string]int{}}
}

// Refusal says why a worker's request is refused.
type Refusal struct{ Reason, Field, Value, Text, HintText string }

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Code() string  { return r.Reason }
func (r *Refusal) Hint() string  { return r.HintText }

// Codes of a Refusal.
const (
	CodeInvalid   = "invalid_worker"
	CodeProtocol  = "worker_protocol"
	CodeUnknown   = "worker_unknown" // it was silent for too long, or the server was started again
	CodeLeaseOver = "lease_over"
	CodeTooLarge  = "report_too_large"
	CodeGap       = "report_gap"
)

// ErrNoWorker is that no worker has taken a run in time.
var ErrNoWorker = errors.New("no worker is there for the run")

// LostError is that the worker of a run was lost.
type LostError struct {
	Worker string
	Made   bool // the worker had been told of the step that was being done
}

func (e *LostError) Error() string { return "the worker " + e.Worker + " was lost" }

// Register makes a worker known.
func (w *Workers) Register(r Registration) (Registered, error) {
	if err := check(&r); err != nil {
		return Registered{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, lasts := w.opts.Now(), w.opts.Lease()
	one := &worker{Registration: r, id: w.opts.NewID(), since: now, seen: now, leases: map[string]*lease{}}
	one.gone = time.AfterFunc(lasts, func() { w.forget(one.id, "it was silent for "+lasts.String()) })
	w.workers[one.id] = one
	w.opts.Logger.Info("a remote worker has come", "worker", r.Name, "labels", r.Labels, "agents", r.Agents, "slots", r.Slots, "version", r.Version)
	return Registered{WorkerID: one.id, LeaseMs: lasts.Milliseconds()}, nil
}

const maxName = 128

func check(r *Registration) (err error) {
	invalid := func(field, value, text, hint string) error {
		return &Refusal{CodeInvalid, field, value, text, hint}
	}
	if r.Protocol != Protocol {
		return &Refusal{CodeProtocol, "protocol", fmt.Sprint(r.Protocol), fmt.Sprintf("the worker speaks version %d, the server %d", r.Protocol, Protocol),
			"use the same version of openclawd on both machines"}
	}
	if r.Name == "" || len(r.Name) > maxName || strings.ContainsFunc(r.Name, func(c rune) bool { return c < ' ' }) {
		return invalid("name", r.Name, "the name is empty, too long or has control characters", "give a name of at most 128 bytes")
	}
	if r.Slots < 1 || r.Slots > MaxSlots {
		return invalid("slots", fmt.Sprint(r.Slots), fmt.Sprintf("%d slots are not possible", r.Slots), fmt.Sprintf("give 1 to %d", MaxSlots))
	}
	if r.Labels, err = config.NormalizeLabels(r.Labels); err != nil {
		return invalid("labels", strings.Join(r.Labels, ","), err.Error(), config.LabelHint)
	}
	if len(r.Agents) > maxAgents {
		return invalid("agents", fmt.Sprint(len(r.Agents)), "too many agents are named", "name none: it then does the runs of all that may run on it")
	}
	for i, id := range r.Agents {
		r.Agents[i] = strings.ToLower(id)
	}
	return nil
}

const maxAgents = 1_000

// Leave takes a worker away: it gives back its runs.
func (w *Workers) Leave(workerID string) { w.forget(workerID, "") }

func (w *Workers) forget(workerID, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.workers[workerID]
	if one == nil {
		return
	}
	one.gone.Stop()
	delete(w.workers, workerID)
	runs := len(one.leases)
	for _, l := range one.leases {
		w.lose(l)
	}
	for _, p := range one.polls {
		close(p.got)
	}
	one.polls = nil
	if why == "" {
		w.opts.Logger.Info("a remote worker has left", "worker", one.Name, "runs", runs)
		return
	}
	w.opts.Logger.Warn("a remote worker has gone", "worker", one.Name, "why", why, "runs", runs)
}

// lose takes a run from its worker. The lock is held.
func (w *Workers) lose(l *lease) {
	if l.over {
		return
	}
	w.stats.Lost++
	made := l.step != nil && l.step.delivered
	w.losses[l.RunID]++
	w.end(l, &LostError{Worker: l.worker.Name, Made: made})
}

// end ends a lease with a cause; nil: the run is over or goes on elsewhere by itself. The lock is held.
func (w *Workers) end(l *lease, cause *LostError) {
	l.over = true
	l.timer.Stop()
	delete(w.leases, l.LeaseID)
	delete(l.worker.leases, l.LeaseID)
	if cause != nil {
		l.lost = cause
		close(l.gone)
	}
	l.wake()
}

// touch says that a worker was heard of. The lock is held.
func (w *Workers) touch(one *worker) {
	one.seen = w.opts.Now()
	one.gone.Reset(w.opts.Lease())
}

func (one *worker) free() int { return one.Slots - len(one.leases) }

// fits reports whether a worker may do a run.
func (one *worker) fits(agentID string, labels []string) bool {
	if len(one.Agents) > 0 && !slices.Contains(one.Agents, strings.ToLower(agentID)) {
		return false
	}
	for _, label := range labels {
		if !slices.Contains(one.Labels, label) {
			return false
		}
	}
	return true
}

// Capacity is how many runs of an agent may be under way at a time: those that are, and what workers that ask for one can take.
func (w *Workers) Capacity(agentID string, labels []string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	free := 0 // a run that has no worker yet does not fit one that waits
	for _, one := range w.workers {
		if len(one.polls) > 0 && one.fits(agentID, labels) {
			free += one.free()
		}
	}
	n = max(free, 0)
	for _, l := range w.leases {
		if l.AgentID == agentID {
			n++
		}
	}
	for _, d := range w.demands {
		if d.run.AgentID == agentID {
			n++
		}
	}
	return n
}

// Able reports whether a worker is connected that may do an agent's runs, be it busy or not.
func (w *Workers) Able(agentID string, labels []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.workers {
		if one.fits(agentID, labels) {
			return true
		}
	}
	return false
}

// Take gives a run to a worker. Without one that takes it within the time of a lease it is ErrNoWorker.
func (w *Workers) Take(ctx context.Context, r Run) (*Place, error) {
	d := &demand{run: r, got: make(chan *lease, 1)}
	w.mu.Lock()
	w.demands = append(w.demands, d)
	w.match()
	w.mu.Unlock()
	patience := time.NewTimer(w.opts.Lease())
	defer patience.Stop()
	var err error
	select {
	case l := <-d.got:
		return &Place{workers: w, lease: l}, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-patience.C:
		err = ErrNoWorker
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.demands, d); i >= 0 {
		w.demands = slices.Delete(w.demands, i, i+1)
		return nil, err
	}
	w.end(<-d.got, nil)
	return nil, err
}

// match gives the runs that wait to workers that ask, each to the one with the most room. The lock is held.
func (w *Workers) match() {
	w.demands = slices.DeleteFunc(w.demands, func(d *demand) bool {
		var best *worker
		for _, one := range w.workers {
			if len(one.polls) > 0 && one.free() > 0 && one.fits(d.run.AgentID, d.run.Labels) &&
				(best == nil || cmp.Or(cmp.Compare(one.free(), best.free()), cmp.Compare(best.id, one.id)) > 0) {
				best = one
			}
		}
		if best == nil {
			return false
		}
		d.got <- w.give(best, d.run)
		return true
	})
}

// give gives a run to a worker that waits. The lock is held.
func (w *Workers) give(one *worker, r Run) *lease {
	l := &lease{Lease: Lease{LeaseID: w.opts.NewID(), Attempt: r.Attempt, RunID: r.RunID, AgentID: r.AgentID, SessionKey: r.SessionKey},
		worker: one, gone: make(chan struct{}), changed: make(chan struct{})}
	l.timer = time.AfterFunc(w.opts.Lease(), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !l.over {
			w.opts.Logger.Warn("a remote worker has lost a run: it was silent about it", "worker", one.Name, "run", r.RunID)
			w.lose(l)
		}
	})
	w.leases[l.LeaseID], one.leases[l.LeaseID] = l, l
	w.stats.Leases++
	p := one.polls[0]
	one.polls = one.polls[1:]
	close(p.got)
	w.opts.Logger.Info("a run is done by a remote worker", "worker", one.Name, "run", r.RunID, "agent", r.AgentID, "attempt", r.Attempt)
	return l
}

// Lost returns how often in a row a run has lost its worker before a step was done.
func (w *Workers) Lost(runID string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.losses[runID]
}

// Forget forgets how often a run has lost its worker.
func (w *Workers) Forget(runID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.losses, runID)
}

// Stats returns the counters.
func (w *Workers) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Workers, s.Busy = len(w.workers), len(w.leases)
	for _, one := range w.workers {
		s.Slots += one.Slots
	}
	return s
}

// List returns the workers, by name.
func (w *Workers) List() []Worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := []Worker{}
	for _, one := range w.workers {
		shown := Worker{Name: one.Name, Labels: append([]string{}, one.Labels...), Agents: append([]string{}, one.Agents...), Slots: one.Slots, Version: one.Version,
			Waiting: len(one.polls) > 0, SinceMs: one.since.UnixMilli(), SeenMs: one.seen.UnixMilli(), Runs: []Lease{}, Finished: one.finished}
		for _, l := range one.leases {
			run := l.Lease
			run.LeaseID = "" // who knows it may report
			shown.Runs = append(shown.Runs, run)
		}
		slices.SortFunc(shown.Runs, func(a, b Lease) int { return cmp.Compare(a.RunID, b.RunID) })
		list = append(list, shown)
	}
	slices.SortFunc(list, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.SinceMs, b.SinceMs))
	})
	return list
}
