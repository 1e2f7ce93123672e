package runner

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/run"
)

// stopBatch is how many queued runs are ended in one transaction.
const stopBatch = 500

// Stop is that of gateway.Runs. What is queued ends at once, the last first, so that none begins meanwhile; what runs is told to, and
// waited for. Runs that come to their own end meanwhile were not stopped.
func (r *Runner) Stop(ctx context.Context, stop run.Stop) ([]string, error) {
	s := stopping{runner: r, stop: stop}
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
	for s.more = true; s.more; {
		if _, err := r.o.Log.Decide(ctx, s.decide); err != nil {
			return s.inOrder(), err
		}
		for _, result := range s.ended {
			r.ended(r.activeOf(result), result)
			s.stopped = append(s.stopped, result.RunID)
		}
	}
	for _, id := range s.running {
		r.halt(id)
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

	meant   map[string]int // those that were there at first, by id: which turn each has
	running []string       // of those that run
	ended   []run.Result   // by the last transaction
	more    bool           // some still wait
	stopped []string
}

func (s *stopping) decide(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
	s.running, s.ended, s.more = nil, nil, false
	open, err := s.open(tx)
	if err != nil {
		return nil, err
	}
	var waiting []run.Result
	for _, result := range open {
		if result.State == run.Queued {
			waiting = append(waiting, result)
		} else {
			s.running = append(s.running, result.RunID)
			s.runner.mark(result, &halted{reason: s.stop.Reason, by: s.stop.By})
		}
	}
	if len(waiting) > stopBatch {
		waiting, s.more = waiting[len(waiting)-stopBatch:], true
	}
	at := s.runner.o.Now().UnixMilli()
	for _, result := range waiting {
		q, err := readContext(tx, result.Seq)
		if err != nil {
			return nil, err
		}
		over := coordination.RunOver{Context: q.Context, EndedAtMs: at, Reason: s.stop.Reason, By: s.stop.By}
		decided, err := run.End(result, run.Aborted, over)
		if err != nil {
			return nil, err
		}
		one, err := q.note(result.RunID, eventstore.ActorSystem, at).events(decided)
		if err != nil {
			return nil, err
		}
		if data, ok := decided.Data.(coordination.RunOver); ok {
			over = data
		}
		appends = append(appends, one)
		s.ended = append(s.ended, overAs(result, run.Aborted, over))
	}
	return appends, nil
}

// open are the runs that are meant and not over, those that came since Stop was called left out.
func (s *stopping) open(tx eventstore.Tx) (open []run.Result, err error) {
	if s.stop.RunID == "" {
		open, err = projection.OpenOf(tx, s.key)
	} else {
		open, err = s.one(tx)
	}
	if err != nil {
		return nil, err
	}
	if s.meant == nil {
		s.meant = make(map[string]int, len(open))
		for turn, result := range open {
			s.meant[result.RunID] = turn
		}
		return open, nil
	}
	return slices.DeleteFunc(open, func(result run.Result) bool {
		_, meant := s.meant[result.RunID]
		return !meant
	}), nil
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
	slices.SortFunc(s.stopped, func(a, b string) int { return s.meant[a] - s.meant[b] })
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
