package runner

import (
	"context"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// stopBatch is how many queued runs are handled per transaction.
const stopBatch = 500

// Stop stops queued and active runs, and returns their ids once their end is on disk. Queued runs end at once, last first so that none
// starts meanwhile, in one transaction unless there are consequences; active runs are signalled and waited for. Runs that end on their own
// meanwhile do not count as stopped.
func (r *Runs) Stop(ctx context.Context, stop run.Stop) ([]string, error) {
	s := stopOperation{runner: r, stop: stop, alone: map[string]bool{}}
	if stop.SessionKey == "" && stop.RunID == "" {
		return nil, &run.Refusal{Reason: run.CodeInvalidAsk, Field: "sessionKey", Text: "no run and no session named", HintText: "name a session or a run"}
	}
	if stop.SessionKey != "" {
		key, err := coordination.ParseSessionKey(stop.SessionKey)
		if err != nil {
			return nil, &run.Refusal{Reason: run.CodeInvalidAsk, Field: "sessionKey", Value: stop.SessionKey, Text: err.Error(), HintText: "name a session, e.g. agent:main:main"}
		}
		s.key = key.String()
	}
	for {
		_, err := r.log.Decide(ctx, s.decide)
		if err != nil && s.followed != "" && r.isRefused(err) {
			r.logWithoutConsequences(s.followed, err)
			s.alone[s.followed] = true
			continue
		}
		if err != nil {
			return s.inOrder(), err
		}
		for _, result := range s.ended {
			r.reportEnd(r.activeOf(result), result)
			s.stopped = append(s.stopped, result.RunID)
		}
		s.running = append(s.running, s.active...)
		if s.waiting = s.left; len(s.waiting) == 0 {
			break
		}
	}
	for _, id := range s.running {
		r.signalStop(id)
	}
	if stop.Unwaited {
		return s.inOrder(), nil
	}
	for _, id := range s.running {
		result, err := r.Wait(ctx, id)
		if err != nil {
			return s.inOrder(), err
		}
		if result.State == run.Aborted {
			s.stopped = append(s.stopped, id)
		}
	}
	return s.inOrder(), nil
}

// stopOperation is a set of runs being stopped.
type stopOperation struct {
	runner *Runs
	stop   run.Stop
	key    string

	turns   map[string]int // the selected runs by id, without those queued since the call
	waiting []string       // still to be handled, by turn
	running []string       // active ones
	stopped []string

	// Of the last transaction:
	ended    []run.Result
	active   []string        // found active
	left     []string        // part of waiting not reached
	followed string          // run whose end has consequences; "" is none
	alone    map[string]bool // runs whose end has no consequences, because the log would reject them
}

func (s *stopOperation) decide(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
	s.ended, s.active, s.followed = nil, nil, ""
	if s.left, err = s.remaining(tx); err != nil {
		return nil, err
	}
	now := s.runner.now()
	for n := 0; n < stopBatch && len(s.left) > 0 && s.followed == ""; n++ { // the consequences of the next must see earlier ones
		last := len(s.left) - 1
		result, found, err := runs.Load(tx, s.left[last])
		if err != nil {
			return nil, err
		}
		s.left = s.left[:last]
		switch {
		case result.State == run.Queued:
			end, err := s.end(tx, result, now)
			if err != nil {
				return nil, err
			}
			appends = append(appends, end...)
		case found && !result.State.Over():
			s.addActive(result)
		}
	}
	return appends, nil
}

// end returns the events that end a queued run, with consequences.
func (s *stopOperation) end(tx eventstore.Tx, result run.Result, now time.Time) ([]eventstore.StreamAppend, error) {
	q, err := readContext(tx, result.Seq)
	if err != nil {
		return nil, err
	}
	o := outcome{to: run.Aborted, over: coordination.RunOver{Reason: s.stop.Reason, By: s.stop.By}, alone: s.alone[result.RunID]}
	end, over, err := s.runner.endEvents(tx, result, q, &o, eventstore.ActorSystem, now)
	if err != nil {
		return nil, err
	}
	s.ended = append(s.ended, over)
	if o.followed {
		s.followed = result.RunID
	}
	return end, nil
}

// addActive records an active run.
func (s *stopOperation) addActive(result run.Result) {
	s.active = append(s.active, result.RunID)
	s.runner.markStopping(result, &stopRequest{reason: s.stop.Reason, by: s.stop.By})
}

// remaining are the ids of queued runs still to be handled. The first transaction selects them, and marks active ones;
// later transactions look only at these, which bounds the cost per run.
func (s *stopOperation) remaining(tx eventstore.Tx) (ids []string, err error) {
	if s.waiting != nil {
		return s.waiting, nil
	}
	var open []run.Result
	if s.stop.RunID == "" {
		open, err = runs.OpenOf(tx, s.key)
	} else {
		open, err = s.one(tx)
	}
	if err != nil {
		return nil, err
	}
	s.turns = make(map[string]int, len(open))
	for turn, result := range open {
		s.turns[result.RunID] = turn
		if result.State == run.Queued {
			ids = append(ids, result.RunID)
		} else {
			s.addActive(result)
		}
	}
	return ids, nil
}

func (s *stopOperation) one(tx eventstore.Tx) ([]run.Result, error) {
	result, found, err := runs.Load(tx, s.stop.RunID)
	switch {
	case err != nil || !found:
		return nil, err
	case s.key != "" && result.SessionKey != s.key:
		return nil, &run.Refusal{Reason: run.CodeOtherSession, Field: "runId", Value: s.stop.RunID, Text: "runId does not match sessionKey",
			HintText: "name session " + result.SessionKey + ", or none"}
	case result.State.Over():
		return nil, nil
	}
	return []run.Result{result}, nil
}

// inOrder are the ids of stopped runs, in queue order.
func (s *stopOperation) inOrder() []string {
	slices.SortFunc(s.stopped, func(a, b string) int { return s.turns[a] - s.turns[b] })
	return s.stopped
}

// markStopping records that an active run is to stop, in the transaction that has seen it: an end after that is not retried.
// It also covers a run of an ended process that the worker has not handled yet. The first reason stays.
func (r *Runs) markStopping(result run.Result, why *stopRequest) {
	r.mu.Lock()
	a := r.runs[result.RunID]
	if a == nil {
		a = &activeRun{runner: r, result: result}
		r.runs[result.RunID] = a
	}
	r.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopRequest == nil {
		a.stopRequest = why
	}
}

// signalStop signals a marked run; a worker that starts it later sees the mark.
func (r *Runs) signalStop(runID string) {
	a := r.running(runID)
	if a == nil {
		return // it has just ended
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil && a.stopRequest != nil {
		a.cancel(a.stopRequest)
	}
}
