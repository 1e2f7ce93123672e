package runner

import (
	"context"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/run"
)

// stopBatch is how many runs that wait are looked at in one transaction.
const stopBatch = 500

// Stop is that of gateway.Runs. What is queued ends at once, the last first, so that none begins meanwhile, in one transaction as far as
// nothing follows from it; what runs is told to, and waited for. Runs that come to their own end meanwhile were not stopped.
func (r *Runner) Stop(ctx context.Context, stop run.Stop) ([]string, error) {
	s := stopping{runner: r, stop: stop, alone: map[string]bool{}}
	if stop.SessionKey == "" && stop.RunID == "" {
		return nil, &run.Refusal{Code: run.CodeInvalidAsk, Field: "sessionKey", Text: "no run and no session named", Mend: "name a session or a run"}
	}
	if stop.SessionKey != "" {
		key, err := coordination.ParseSessionKey(stop.SessionKey)
		if err != nil {
			return nil, &run.Refusal{Code: run.CodeInvalidAsk, Field: "sessionKey", Value: stop.SessionKey, Text: err.Error(), Mend: "name a session, e.g. agent:main:main"}
		}
		s.key = key.String()
	}
	for {
		_, err := r.o.Log.Decide(ctx, s.decide)
		if err != nil && s.followed != "" && r.isRefused(err) {
			r.tellAlone(s.followed, err)
			s.alone[s.followed] = true
			continue
		}
		if err != nil {
			return s.inOrder(), err
		}
		for _, result := range s.ended {
			r.ended(r.activeOf(result), result)
			s.stopped = append(s.stopped, result.RunID)
		}
		s.running = append(s.running, s.begun...)
		if s.waiting = s.left; len(s.waiting) == 0 {
			break
		}
	}
	for _, id := range s.running {
		r.halt(id)
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

// stopping is runs on their way to their end.
type stopping struct {
	runner *Runner
	stop   run.Stop
	key    string

	turns   map[string]int // of those that are meant, by id; those that came since Stop was called are not
	waiting []string       // of those that have to be looked at, by turn
	running []string       // of those that run
	stopped []string

	// Of the last transaction:
	ended    []run.Result
	begun    []string        // what was found running
	left     []string        // of waiting, what it has not come to
	followed string          // from whose end something follows; "" is none
	alone    map[string]bool // of any: from whose end nothing follows, because the log would not take it
}

func (s *stopping) decide(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
	s.ended, s.begun, s.followed = nil, nil, ""
	if s.left, err = s.meant(tx); err != nil {
		return nil, err
	}
	now := s.runner.o.Now()
	for n := 0; n < stopBatch && len(s.left) > 0 && s.followed == ""; n++ { // what follows from the next has to see what followed
		last := len(s.left) - 1
		result, found, err := projection.Load(tx, s.left[last])
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
			s.begins(result)
		}
	}
	return appends, nil
}

// end is what is appended for a run that waits, with what follows from that.
func (s *stopping) end(tx eventstore.Tx, result run.Result, now time.Time) ([]eventstore.StreamAppend, error) {
	q, err := readContext(tx, result.Seq)
	if err != nil {
		return nil, err
	}
	o := outcome{to: run.Aborted, over: coordination.RunOver{Reason: s.stop.Reason, By: s.stop.By}, alone: s.alone[result.RunID]}
	end, over, err := s.runner.ending(tx, result, q, &o, eventstore.ActorSystem, now)
	if err != nil {
		return nil, err
	}
	s.ended = append(s.ended, over)
	if o.followed {
		s.followed = result.RunID
	}
	return end, nil
}

// begins notes a run that is under way.
func (s *stopping) begins(result run.Result) {
	s.begun = append(s.begun, result.RunID)
	s.runner.mark(result, &halted{reason: s.stop.Reason, by: s.stop.By})
}

// meant are the ids of the runs that wait and have to be looked at. The first transaction finds them, and marks at once those that run
// already; those after it look at no other, so that the whole costs only so much for each.
func (s *stopping) meant(tx eventstore.Tx) (ids []string, err error) {
	if s.waiting != nil {
		return s.waiting, nil
	}
	var open []run.Result
	if s.stop.RunID == "" {
		open, err = projection.OpenOf(tx, s.key)
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
			s.begins(result)
		}
	}
	return ids, nil
}

func (s *stopping) one(tx eventstore.Tx) ([]run.Result, error) {
	result, found, err := projection.Load(tx, s.stop.RunID)
	switch {
	case err != nil || !found:
		return nil, err
	case s.key != "" && result.SessionKey != s.key:
		return nil, &run.Refusal{Code: run.CodeOtherSession, Field: "runId", Value: s.stop.RunID, Text: "runId does not match sessionKey",
			Mend: "name session " + result.SessionKey + ", or none"}
	case result.State.Over():
		return nil, nil
	}
	return []run.Result{result}, nil
}

// inOrder are the ids of what was stopped, in the order in which it had its turn.
func (s *stopping) inOrder() []string {
	slices.SortFunc(s.stopped, func(a, b string) int { return s.turns[a] - s.turns[b] })
	return s.stopped
}

// mark notes that a run is to stop, within the transaction that has seen it run: what ends it after that does not ask for it again. So it
// is with one of a process that is gone, which the worker has not come to yet. The first reason stays.
func (r *Runner) mark(result run.Result, why *halted) {
	r.mu.Lock()
	a := r.runs[result.RunID]
	if a == nil {
		a = &active{runner: r, result: result}
		r.runs[result.RunID] = a
	}
	r.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.halted == nil {
		a.halted = why
	}
}

// halt tells a run that is marked to stop, also if its worker has not come to it yet: that finds it when it does.
func (r *Runner) halt(runID string) {
	a := r.running(runID)
	if a == nil {
		return // it has just ended
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil && a.halted != nil {
		a.cancel(a.halted)
	}
}
