package messenger

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/flows"
)

// answerWaiters are the flows whose first answer a caller waits for. A transaction notes that it brings one, but does not learn whether it is
// stored: a goroutine, which lives while there are notes, checks after each commit.
type answerWaiters struct {
	mu      sync.Mutex
	flows   map[string]*answerWaiter // by id
	lanes   map[string]int           // waiting runs by lane
	pairs   map[waitPair]int         // waiting runs by their session and the answering one
	noted   map[string]bool          // flows whose first answer, or end, a transaction has appended
	stops   map[string]string        // runs to be stopped once their flow is over, by its id
	polling bool
	poll    func()

	abandoned abandoned
}

// answerWaiter is a flow that callers wait for.
type answerWaiter struct {
	callers int
	done    chan struct{} // closed once there is an answer, or none will come
}

// waitPair is a session in which a run waits and the answering session.
type waitPair struct{ asks, answers string }

// between registers a run that is going to wait for another session, until left is called. It fails if that session waits for the run's
// own, directly or indirectly: a session does one thing at a time, so neither would be answered.
func (w *answerWaiters) between(p waitPair) (left func(), may bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	behind := []string{p.answers} // sessions that p.asks would wait for
	for at := 0; at < len(behind); at++ {
		if behind[at] == p.asks {
			return nil, false
		}
		for other := range w.pairs {
			if other.asks == behind[at] && !slices.Contains(behind, other.answers) {
				behind = append(behind, other.answers)
			}
		}
	}
	if w.pairs == nil {
		w.pairs = map[waitPair]int{}
	}
	w.pairs[p]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.pairs[p]--; w.pairs[p] == 0 {
			delete(w.pairs, p)
		}
	}, true
}

// enter counts a run that is going to wait, until left is called. "" is no run's lane.
func (w *answerWaiters) enter(lane string) (left func()) {
	if lane == "" {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lanes == nil {
		w.lanes = map[string]int{}
	}
	w.lanes[lane]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.lanes[lane]--; w.lanes[lane] == 0 {
			delete(w.lanes, lane)
		}
	}
}

// Waiting returns how many runs of each lane wait for another one's answer: they occupy no slot of the lane meanwhile.
func (s *Service) Waiting() map[string]int {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	return maps.Clone(s.waits.lanes)
}

// join registers a wait for a flow. It is called before the flow is read, so that no answer in between is missed.
func (w *answerWaiters) join(jobID string) *answerWaiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.flows[jobID]
	if one == nil {
		if w.flows == nil {
			w.flows = map[string]*answerWaiter{}
		}
		one = &answerWaiter{done: make(chan struct{})}
		w.flows[jobID] = one
	}
	one.callers++
	return one
}

func (w *answerWaiters) leave(jobID string, one *answerWaiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.callers--; one.callers == 0 && w.flows[jobID] == one {
		delete(w.flows, jobID)
		delete(w.noted, jobID)
	}
}

// hasWaiter reports whether a caller waits for the answer of a flow and will learn its end.
func (w *answerWaiters) hasWaiter(jobID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flows[jobID] != nil
}

// noteAnswer notes that a transaction changes a flow, if a caller waits for it. It does not block.
func (w *answerWaiters) noteAnswer(jobID string, s *a2a.Step) {
	answers := s.Over || slices.ContainsFunc(s.Events, func(e a2a.Event) bool { return e.Type == coordination.TypeA2AResponse })
	w.mu.Lock()
	defer w.mu.Unlock()
	if !answers || w.flows[jobID] == nil {
		return
	}
	if w.noted == nil {
		w.noted = map[string]bool{}
	}
	w.noted[jobID] = true
	w.begin()
}

// stop notes a run to be stopped once a transaction has ended its flow.
func (w *answerWaiters) stop(jobID, runID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stops == nil {
		w.stops = map[string]string{}
	}
	w.stops[jobID] = runID
	w.begin()
}

func (w *answerWaiters) begin() {
	if !w.polling {
		w.polling = true
		go w.poll()
	}
}

// retries are the delays between attempts to read the log.
var retries = backoff.Backoff{First: 100 * time.Millisecond, Most: 10 * time.Second}

// pollAnswers checks after every commit which of the noted answers are on disk, until all are, the log is closed, or it
// cannot be read when the program ends.
func (s *Service) pollAnswers() {
	ctx := context.Background() // the end of the log ends it
	for failures := 0; ; {
		head, err := s.o.Log.Head(ctx)
		if err == nil {
			var left bool
			if left, err = s.releaseStored(ctx); !left && err == nil {
				return
			}
		}
		if err == nil {
			failures = 0
			if _, err = s.o.Log.Wait(ctx, head.Seq+1); err == nil {
				continue
			}
		}
		over := errors.Is(err, eventstore.ErrClosed)
		if !over {
			failures++
			pause := retries.After(failures)
			s.o.Logger.Warn("cannot read the log for callers that wait for answers; will retry", "err", err, "retry_in", pause)
			over = !wait.Unless(s.o.Done, pause)
		}
		if over {
			s.waits.giveUp()
			return
		}
	}
}

// giveUp releases all waiting callers, which read the log themselves.
func (w *answerWaiters) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.flows {
		close(one.done)
	}
	w.flows, w.noted, w.stops, w.polling = nil, nil, nil, false
}

// releaseStored releases the callers whose answer is on disk. left is false when nothing is noted any more, which ends the checks.
func (s *Service) releaseStored(ctx context.Context) (left bool, err error) {
	w := &s.waits
	w.mu.Lock()
	noted := slices.AppendSeq(slices.Collect(maps.Keys(w.noted)), maps.Keys(w.stops))
	w.mu.Unlock()
	answered, over := map[string]bool{}, map[string]bool{}
	err = s.o.Log.View(ctx, func(tx *sql.Tx) error {
		for _, id := range noted {
			row, found, err := flows.ByID(ctx, tx, id)
			if err != nil {
				return err
			}
			answered[id], over[id] = found && isAnswered(&row), found && !row.Phase.Open()
		}
		return nil
	})
	if err != nil {
		return true, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range noted {
		if one := w.flows[id]; one != nil && answered[id] {
			delete(w.flows, id)
			close(one.done)
		}
		if w.flows[id] == nil {
			delete(w.noted, id)
		}
		if runID, wanted := w.stops[id]; wanted && over[id] {
			delete(w.stops, id)
			w.abandoned.add(runID)
		}
	}
	w.polling = len(w.noted)+len(w.stops) > 0
	return w.polling, nil
}

// isAnswered reports whether there is a first answer, or none will come.
func isAnswered(row *flows.Row) bool {
	return row.Phase != a2a.Dispatching && row.Phase != a2a.Waiting
}
