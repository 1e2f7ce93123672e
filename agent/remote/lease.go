package remote

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// lease is a run with a worker.
type lease struct {
	Lease
	worker *worker
	timer  *time.Timer
	gone   chan struct{} // closed when the worker is lost
	lost   *LostError    // set before

	// Guarded by Workers.mu.
	over    bool
	heard   bool // the worker knows of it
	number  int  // of the last step
	step    *step
	changed chan struct{} // closed on every change
}

// wake wakes those who wait for a change. The lock is held.
func (l *lease) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// step is a step that is being done.
type step struct {
	Step
	delivered, cancelled bool

	streaming sync.Mutex // held while chunks are passed on, in order
	taken     int
	over      bool
	stream    func(llm.Chunk)
	result    chan *Result
}

// pause bounds how long a request of a worker waits, so that it is heard of several times per lease.
func (w *Workers) pause(ms int64) *time.Timer {
	longest := w.opts.Lease() / 3
	return time.NewTimer(min(max(time.Duration(ms)*time.Millisecond, 0), longest))
}

// Lease answers a worker that asks for a run.
func (w *Workers) Lease(ctx context.Context, ask LeaseAsk) (LeaseAnswer, error) {
	w.mu.Lock()
	one := w.workers[ask.WorkerID]
	if one == nil {
		w.mu.Unlock()
		return LeaseAnswer{}, &Refusal{CodeUnknown, "workerId", "", "this worker is not known", "register again"}
	}
	w.touch(one)
	if l := one.unheard(ask.Has); l != nil || one.free() <= 0 {
		w.mu.Unlock()
		return answerOf(l), nil
	}
	p := &poll{got: make(chan struct{})}
	one.polls = append(one.polls, p)
	w.match()
	w.mu.Unlock()
	w.opts.Changed()
	patience := w.pause(ask.WaitMs)
	defer patience.Stop()
	select {
	case <-p.got:
	case <-patience.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one.polls = slices.DeleteFunc(one.polls, func(other *poll) bool { return other == p })
	return answerOf(one.unheard(ask.Has)), nil
}

// unheard is a run that a worker was given and does not know of: the answer may have been lost.
func (one *worker) unheard(has []string) *lease {
	for _, l := range one.leases {
		if !l.heard && !slices.Contains(has, l.LeaseID) {
			return l
		}
	}
	return nil
}

func answerOf(l *lease) LeaseAnswer {
	if l == nil {
		return LeaseAnswer{}
	}
	told := l.Lease
	return LeaseAnswer{&told}
}

// held returns the lease that a worker speaks of, and renews it. The lock is held.
func (w *Workers) held(leaseID string, attempt int) (*lease, error) {
	l := w.leases[leaseID]
	if l == nil || l.Attempt != attempt {
		w.stats.Stale++
		return nil, &Refusal{CodeLeaseOver, "leaseId", "", "this run is not with the worker any more", "drop what was done for it, and ask for another run"}
	}
	l.heard = true
	l.timer.Reset(w.opts.Lease())
	w.touch(l.worker)
	return l, nil
}

// Next answers a worker that asks what to do for a run.
func (w *Workers) Next(ctx context.Context, ask NextAsk) (NextAnswer, error) {
	patience := w.pause(ask.WaitMs)
	defer patience.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	l, err := w.held(ask.LeaseID, ask.Attempt)
	if err != nil {
		return NextAnswer{}, err
	}
	for {
		switch s := l.step; {
		case l.over:
			return NextAnswer{Over: true}, nil
		case s == nil:
		case s.Number > ask.After && !s.cancelled:
			s.delivered = true
			told := s.Step
			return NextAnswer{Step: &told}, nil
		case s.Number == ask.After && s.cancelled && ask.Cancelled < s.Number:
			return NextAnswer{Cancelled: s.Number}, nil
		}
		changed := l.changed
		w.mu.Unlock()
		ended := false
		select {
		case <-changed:
		case <-patience.C:
			ended = true
		case <-ctx.Done():
			ended = true
		}
		w.mu.Lock()
		if ended {
			return NextAnswer{Over: l.over}, nil
		}
	}
}

// Report takes what a worker reports of a step.
func (w *Workers) Report(r *ReportAsk) (ReportAnswer, error) {
	if len(r.Chunks) > MaxChunks {
		return ReportAnswer{}, &Refusal{CodeTooLarge, "chunks", "", "the report has too many parts", "send them in several reports"}
	}
	w.mu.Lock()
	l, err := w.held(r.LeaseID, r.Attempt)
	if err != nil {
		w.mu.Unlock()
		return ReportAnswer{}, err
	}
	s := l.step
	if s == nil || s.Number != r.Step || s.cancelled || !s.delivered {
		done := s != nil && s.Number == r.Step || r.Step <= l.number
		w.stats.Stale++
		w.mu.Unlock()
		return ReportAnswer{Stale: true, Done: done}, nil
	}
	w.mu.Unlock()
	answer, err := s.take(r)
	if err == nil && r.Result != nil {
		w.mu.Lock()
		w.stats.Steps++
		delete(w.losses, l.RunID)
		w.mu.Unlock()
	}
	return answer, err
}

// take passes on what is new.
func (s *step) take(r *ReportAsk) (ReportAnswer, error) {
	s.streaming.Lock()
	defer s.streaming.Unlock()
	if s.over {
		return ReportAnswer{Stale: true, Done: true}, nil
	}
	if r.From > s.taken {
		return ReportAnswer{}, &Refusal{CodeGap, "from", "", "parts are missing before these", "send them from the first one that was not taken"}
	}
	for i := max(s.taken-r.From, 0); i < len(r.Chunks); i++ {
		s.stream(r.Chunks[i])
	}
	s.taken = max(s.taken, r.From+len(r.Chunks))
	if r.Result == nil {
		return ReportAnswer{Taken: s.taken}, nil
	}
	s.over = true
	r.Result.settle()
	s.result <- r.Result
	return ReportAnswer{Taken: s.taken, Done: true}, nil
}

// settle makes of a result what the program's own models and tools return.
func (r *Result) settle() {
	if a := r.Answer; a != nil {
		for i := range a.ToolCalls {
			c := &a.ToolCalls[i]
			malformed := c.Malformed
			*c = llm.NewToolCall(c.ID, c.Name, string(c.Arguments))
			if malformed != "" {
				c.Malformed = malformed
			}
		}
	}
	if o := r.Output; o != nil && string(o.Details) == "null" {
		o.Details = json.RawMessage(nil)
	}
}
