package runner

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// activeRun is a run with subscribers' updates: active, or ending before it started.
type activeRun struct {
	runner *Runs
	result run.Result // the run while active; immutable

	params // of a started run

	ahead  atomic.Bool // it has added a step to the transcript
	parked atomic.Bool // it waits for a decision, and is kept here for its updates only

	mu          sync.Mutex
	seq         int64
	waiting     []run.Update // updates not sent yet
	notifying   bool         // a goroutine is sending
	over        bool         // the end was sent or queued: nothing follows
	text        string       // the current answer so far; the previous one until there is any
	kept        bool         // it is in the transcript
	before      string       // the newest answer in the transcript
	cancel      context.CancelCauseFunc
	stopRequest *stopRequest // reason of a requested stop
}

// notify sends updates to subscribers. While one goroutine sends, others leave their updates to it, so that a run's
// updates stay in order without a lock during the calls.
func (a *activeRun) notify(u run.Update) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	a.over = u.Kind == run.Ended
	a.seq++
	u.RunID, u.SessionKey, u.SessionID = a.result.RunID, a.result.SessionKey, a.result.SessionID
	u.Internal = a.asked != nil && a.asked.Internal // a run not started in this process has no text here
	u.AgentID, u.Cause, u.Seq, u.At = a.result.AgentID, a.result.Cause, a.seq, a.runner.now().UnixMilli()
	a.waiting = append(a.waiting, u)
	if a.notifying {
		return
	}
	a.notifying = true
	for len(a.waiting) > 0 {
		updates := a.waiting
		a.waiting = nil
		a.mu.Unlock()
		for i := range updates {
			a.runner.followers.notify(&updates[i], a.runner.logger)
		}
		a.mu.Lock()
	}
	a.notifying = false
}

// activate has a run be the active one of its id. Its updates continue those from before it was parked.
func (r *Runs) activate(a *activeRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.runs[a.result.RunID]; before != nil && a.resumed {
		before.mu.Lock()
		a.seq = before.seq
		before.mu.Unlock()
	}
	r.runs[a.result.RunID] = a
}

// setText records the current answer so far, in case another goroutine writes the end.
func (a *activeRun) setText(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text, a.kept = text, false
}

// discardText discards the text of a failed attempt before the next one.
func (a *activeRun) discardText() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text, a.kept = a.before, true
}

// markStored records that the current answer is in the transcript.
func (a *activeRun) markStored() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before, a.kept = a.text, true
}

// stopRequested returns who requested a stop and why; nil if not requested.
func (a *activeRun) stopRequested() *stopRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopRequest
}

// currentText is the current answer so far.
func (a *activeRun) currentText() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text
}

// subscribers receive the updates of all runs.
type subscribers struct {
	mu  sync.Mutex // of changes
	all atomic.Pointer[[]*subscriber]
}

type subscriber struct{ notify func(run.Update) }

// Follow calls tell for every update of all runs until stop is called. tell is called on the runs' goroutines; it may call this Runner but
// must not block. A call in progress may continue after stop returns.
func (r *Runs) Follow(tell func(run.Update)) (stop func()) {
	one := &subscriber{tell}
	r.followers.update(func(all []*subscriber) []*subscriber { return append(slices.Clone(all), one) })
	return func() {
		r.followers.update(func(all []*subscriber) []*subscriber {
			return slices.DeleteFunc(slices.Clone(all), func(f *subscriber) bool { return f == one })
		})
	}
}

func (f *subscribers) update(to func([]*subscriber) []*subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*subscriber
	if old := f.all.Load(); old != nil {
		all = *old
	}
	all = to(all)
	f.all.Store(&all)
}

func (f *subscribers) notify(u *run.Update, log *slog.Logger) {
	all := f.all.Load()
	if all == nil {
		return
	}
	for _, one := range *all {
		one.call(u, log)
	}
}

// call isolates a subscriber's panic.
func (f *subscriber) call(u *run.Update, log *slog.Logger) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic in a follower of runs", "run", u.RunID, "kind", u.Kind, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f.notify(*u)
}

// reportEnd reports that a run is over, which is on disk.
func (r *Runs) reportEnd(a *activeRun, result run.Result) {
	a.notify(run.Update{Kind: run.Ended, Result: &result})
	r.mu.Lock()
	r.ends.mu.Lock()
	if r.runs[result.RunID] == a {
		delete(r.runs, result.RunID)
	}
	delete(r.ends.expected, result.RunID)
	r.ends.mu.Unlock()
	r.mu.Unlock()
	r.waits.end(result)
}

// activeOf returns a run's updates, created if the run was not started in this process.
func (r *Runs) activeOf(result run.Result) *activeRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.runs[result.RunID]; a != nil {
		return a
	}
	return &activeRun{runner: r, result: result}
}

// overAs returns a run after its end.
func overAs(r run.Result, to run.State, over coordination.RunOver) run.Result {
	r.State, r.EndedAt, r.Over = to, over.EndedAtMs, &over
	if over.SessionID != "" {
		r.SessionID = over.SessionID
	}
	return r
}
