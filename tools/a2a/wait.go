package a2a

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
)

// waits are the flows of which somebody waits for the first answer. A transaction notes that it brings one; whether it is stored, it is not
// told: one goroutine, which lives while there is something noted, looks after each commit.
type waits struct {
	mu      sync.Mutex
	flows   map[string]*waiting // by id
	lanes   map[string]int      // runs that wait, by lane
	pairs   map[pair]int        // runs that wait, by their session and the one that answers
	noted   map[string]bool     // flows whose first answer, or end, a transaction has said
	stops   map[string]string   // runs to be stopped once their flow is over, by its id
	looking bool
	look    func()
}

// waiting is a flow that somebody waits for.
type waiting struct {
	callers int
	done    chan struct{} // closed once there is an answer, or none will come
}

// pair is a session in which a run waits, and the one that answers it.
type pair struct{ asks, answers string }

// between counts a run that is going to wait for another session, until left is called. It may not if that waits for its own, directly or by way
// of others: a session does one thing at a time, so none of them would be answered.
func (w *waits) between(p pair) (left func(), may bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	behind := []string{p.answers} // what p.asks would wait for
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
		w.pairs = map[pair]int{}
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
func (w *waits) enter(lane string) (left func()) {
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

// Waiting is how many runs of each lane wait for the answer of another one: they need no place of their lane meanwhile.
func (c *Coordinator) Waiting() map[string]int {
	c.waits.mu.Lock()
	defer c.waits.mu.Unlock()
	return maps.Clone(c.waits.lanes)
}

// join waits for a flow. It is called before the flow is looked at, or what comes between the two would be missed.
func (w *waits) join(jobID string) *waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.flows[jobID]
	if one == nil {
		if w.flows == nil {
			w.flows = map[string]*waiting{}
		}
		one = &waiting{done: make(chan struct{})}
		w.flows[jobID] = one
	}
	one.callers++
	return one
}

func (w *waits) leave(jobID string, one *waiting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.callers--; one.callers == 0 && w.flows[jobID] == one {
		delete(w.flows, jobID)
		delete(w.noted, jobID)
	}
}

// awaited reports whether a caller waits for the answer of a flow: it is told how that ends.
func (w *waits) awaited(jobID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flows[jobID] != nil
}

// note notes what a transaction says of a flow, if somebody waits for it. It does not wait.
func (w *waits) note(jobID string, s *decide.Step) {
	answers := s.Over || slices.ContainsFunc(s.Events, func(e decide.Event) bool { return e.Type == coordination.TypeA2AResponse })
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

// stop has a run stopped once its flow is over, which a transaction says.
func (w *waits) stop(jobID, runID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stops == nil {
		w.stops = map[string]string{}
	}
	w.stops[jobID] = runID
	w.begin()
}

// begin has somebody look.
func (w *waits) begin() {
	if !w.looking {
		w.looking = true
		go w.look()
	}
}

// pauses between attempts at looking while the log cannot be read.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
)

// look looks, with every commit, which of the noted answers are on disk, until all are or the log is closed.
func (c *Coordinator) look() {
	ctx := context.Background() // the log ends it
	for pause := firstPause; ; {
		head, err := c.o.Log.Head(ctx)
		if err == nil {
			var left bool
			if left, err = c.lookOnce(ctx); !left && err == nil {
				return
			}
		}
		if err == nil {
			pause = firstPause
			if _, err = c.o.Log.Wait(ctx, head.Seq+1); err == nil {
				continue
			}
		}
		if errors.Is(err, eventstore.ErrClosed) {
			c.waits.giveUp()
			return
		}
		c.o.Logger.Warn("nobody is told of answers for now", "err", err, "again_in", pause)
		<-time.After(pause)
		pause = min(2*pause, maxPause)
	}
}

// giveUp lets all go on that wait: they see that the log is closed.
func (w *waits) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.flows {
		close(one.done)
	}
	w.flows, w.noted, w.stops, w.looking = nil, nil, nil, false
}

// lookOnce lets those go on whose answer is on disk. left is false when nothing is noted any more, and then somebody else has to look.
func (c *Coordinator) lookOnce(ctx context.Context) (left bool, err error) {
	w := &c.waits
	w.mu.Lock()
	noted := slices.AppendSeq(slices.Collect(maps.Keys(w.noted)), maps.Keys(w.stops))
	w.mu.Unlock()
	answered, over := map[string]bool{}, map[string]bool{}
	err = c.o.Log.View(ctx, func(tx *sql.Tx) error {
		for _, id := range noted {
			row, found, err := projection.ByID(ctx, tx, id)
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
			go c.stopRun(runID)
		}
	}
	w.looking = len(w.noted)+len(w.stops) > 0
	return w.looking, nil
}

// isAnswered reports whether there is a first answer, or none will come.
func isAnswered(row *projection.Row) bool {
	return row.Phase != decide.Dispatching && row.Phase != decide.Waiting
}

// stopRun stops a run that nobody waits for any more.
func (c *Coordinator) stopRun(runID string) {
	_, err := c.o.Runs.Stop(context.Background(), run.Stop{RunID: runID, Unwaited: true, Reason: stopReason}) // the log ends it
	if err != nil && !errors.Is(err, eventstore.ErrClosed) {
		c.o.Logger.Warn("a run that nobody waits for was not stopped", "run", runID, "err", err)
	}
}

// stopReason is why a run is stopped whose flow was.
const stopReason = "stop"
