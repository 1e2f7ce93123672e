package messenger

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Runs stops runs.
type Runs interface {
	Stop(ctx context.Context, stop run.Stop) ([]string, error)
}

// Stopper ends flows on request, and stops the runs that ended flows leave behind. It is separate from the service that sends, which returns
// the consequences of the end of a run and therefore exists before anything that can stop one. It is safe for concurrent use.
type Stopper struct {
	service *Service
	runs    Runs
}

// NewStopper returns a Stopper, which stops the left runs while its Run runs.
func NewStopper(s *Service, runs Runs) *Stopper { return &Stopper{s, runs} }

// stopReason is the reason for stopping the run of a stopped flow.
const stopReason = "stop"

// Run stops the runs that ended flows leave behind, until ctx ends or the log is closed.
func (s *Stopper) Run(ctx context.Context) error {
	for {
		for _, id := range s.service.waits.abandoned.drain() {
			_, err := s.runs.Stop(ctx, run.Stop{RunID: id, Unwaited: true, Reason: stopReason})
			if err != nil && ctx.Err() == nil && !errors.Is(err, eventstore.ErrClosed) {
				s.service.o.Logger.Warn("cannot stop the run of an ended flow; it continues until its own end", "run", id, "err", err)
			}
		}
		select {
		case <-s.service.waits.abandoned.more:
		case <-ctx.Done():
			return nil
		}
	}
}

// abandoned are the runs of ended flows that have to be stopped. Adding one does not block.
type abandoned struct {
	mu   sync.Mutex
	runs []string
	more chan struct{} // has a token while there may be some
}

func (a *abandoned) add(runID string) {
	a.mu.Lock()
	a.runs = append(a.runs, runID)
	a.mu.Unlock()
	select {
	case a.more <- struct{}{}:
	default:
	}
}

func (a *abandoned) drain() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.runs
	a.runs = nil
	return all
}

// Stop ends flows and the sub-agents that their runs have started, and stops their runs. It returns the ids of those that were open. A
// failure does not keep the others from being stopped.
func (s *Stopper) Stop(ctx context.Context, jobID, by, reason string) (stopped []string, err error) {
	var errs []error
	seen := map[string]bool{jobID: true}
	for next := []string{jobID}; len(next) > 0; next = next[1:] {
		was, err := s.stop(ctx, next[0], by, reason)
		errs = append(errs, err)
		if !was {
			continue
		}
		stopped = append(stopped, next[0])
		started, err := s.service.startedBy(ctx, next[0]) // after its run has ended: it begins no more
		errs = append(errs, err)
		for _, id := range started {
			if !seen[id] {
				seen[id] = true
				next = append(next, id)
			}
		}
	}
	return stopped, errors.Join(errs...)
}

// stop ends one flow and stops the run that it waits for. was is false for a flow that is not open.
func (s *Stopper) stop(ctx context.Context, jobID, by, reason string) (was bool, err error) {
	var runID string
	now := s.service.o.Now()
	_, err = s.service.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		was = false // may be called again
		f, found, err := flows.Load(tx, jobID)
		if err != nil || !found || !f.Phase.Open() {
			return nil, err
		}
		done, err := s.service.performed(tx, f, a2a.Stop(f, by, reason, now.UnixMilli()), now)
		was, runID = true, done.step.StopRun
		return done.appends, err
	})
	if err != nil {
		return false, err
	}
	if was && runID != "" {
		_, err = s.runs.Stop(ctx, run.Stop{RunID: runID, Reason: stopReason, By: by})
	}
	return was, err
}

// startedBy returns the open flows that runs of a flow have started, newest first.
func (s *Service) startedBy(ctx context.Context, jobID string) (ids []string, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) error {
		runs, err := runs.List(ctx, tx, runs.Query{JobID: jobID})
		if err != nil {
			return err
		}
		own, sessions := map[string]bool{}, map[string]bool{}
		for i := range runs {
			own[runs[i].RunID], sessions[runs[i].SessionKey] = true, true
		}
		for key := range sessions {
			flows, err := flows.List(ctx, tx, flows.Query{RequesterSessionKey: key, Open: true})
			if err != nil {
				return err
			}
			for i := range flows {
				if own[flows[i].RequesterRunID] {
					ids = append(ids, flows[i].JobID)
				}
			}
		}
		return nil
	})
	return ids, err
}
