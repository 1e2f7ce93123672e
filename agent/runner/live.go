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

// active is a run that is told of: one that runs, or one that ends before it has begun.
type active struct {
	runner *Runner
	result run.Result // as it stands while it runs; does not change

	job // of a run that has begun

	mu      sync.Mutex
	seq     int64
	waiting []run.Update // that are still to be told
	telling bool         // somebody does
	over    bool         // its end was told, or is about to be: nothing comes after it
	text    string       // all of the present answer so far; of the one before, until there is any
	kept    bool         // it is in the transcript
	before  string       // the newest answer that is in the transcript
	cancel  context.CancelCauseFunc
	halted  *halted // why it is to stop, once it is
}

// tell tells followers what happens. Nobody waits for another one's followers: who comes while somebody tells leaves him to tell this
// too, so that updates of a run stay in order without a lock held while followers are called.
func (a *active) tell(u run.Update) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	a.over = u.Kind == run.Ended
	a.seq++
	u.RunID, u.SessionKey, u.SessionID = a.result.RunID, a.result.SessionKey, a.result.SessionID
	u.Internal = a.asked != nil && a.asked.Internal // one that has not begun in this process has said nothing here
	u.AgentID, u.Cause, u.Seq, u.At = a.result.AgentID, a.result.Cause, a.seq, a.runner.o.Now().UnixMilli()
	a.waiting = append(a.waiting, u)
	if a.telling {
		return
	}
	a.telling = true
	for len(a.waiting) > 0 {
		updates := a.waiting
		a.waiting = nil
		a.mu.Unlock()
		for i := range updates {
			a.runner.followers.tell(&updates[i], a.runner.o.Logger)
		}
		a.mu.Lock()
	}
	a.telling = false
}

// say keeps what the present answer has said so far, for an end that somebody else writes.
func (a *active) say(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text, a.kept = text, false
}

// anew forgets what an attempt has said that failed: another one begins.
func (a *active) anew() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text, a.kept = a.before, true
}

// keep notes that the present answer is in the transcript.
func (a *active) keep() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before, a.kept = a.text, true
}

// stopped says who has stopped it and why; nil if nobody has.
func (a *active) stopped() *halted {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.halted
}

// said is what the present answer has said so far.
func (a *active) said() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text
}

// followers are told of everything that happens in runs.
type followers struct {
	mu  sync.Mutex // of changes
	all atomic.Pointer[[]*follower]
}

type follower struct{ tell func(run.Update) }

// Follow is that of gateway.Runs. tell is called by the goroutines that run; it may call this Runner, but must not wait. A call that has
// begun may still go on when stop returns.
func (r *Runner) Follow(tell func(run.Update)) (stop func()) {
	one := &follower{tell}
	r.followers.change(func(all []*follower) []*follower { return append(slices.Clone(all), one) })
	return func() {
		r.followers.change(func(all []*follower) []*follower {
			return slices.DeleteFunc(slices.Clone(all), func(f *follower) bool { return f == one })
		})
	}
}

func (f *followers) change(to func([]*follower) []*follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*follower
	if old := f.all.Load(); old != nil {
		all = *old
	}
	all = to(all)
	f.all.Store(&all)
}

func (f *followers) tell(u *run.Update, log *slog.Logger) {
	all := f.all.Load()
	if all == nil {
		return
	}
	for _, one := range *all {
		one.call(u, log)
	}
}

// call keeps what a follower breaks to itself.
func (f *follower) call(u *run.Update, log *slog.Logger) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("a follower of runs panicked", "run", u.RunID, "kind", u.Kind, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f.tell(*u)
}

// ended tells that a run is over, which is on disk.
func (r *Runner) ended(a *active, result run.Result) {
	a.tell(run.Update{Kind: run.Ended, Result: &result})
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

// activeOf is a run to tell of. One that has not begun in this process is made.
func (r *Runner) activeOf(result run.Result) *active {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.runs[result.RunID]; a != nil {
		return a
	}
	return &active{runner: r, result: result}
}

// overAs is a run as what ends it leaves it.
func overAs(r run.Result, to run.State, over coordination.RunOver) run.Result {
	r.State, r.EndedAt, r.Over = to, over.EndedAtMs, &over
	if over.SessionID != "" {
		r.SessionID = over.SessionID
	}
	return r
}
