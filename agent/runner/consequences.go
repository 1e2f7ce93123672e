package runner

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// EndedRun is the end of a run.
type EndedRun struct {
	Asked  *coordination.RunQueued // the request; for a redacted run, or one stopped before it started, only context and ids
	Result run.Result              // after the end; Over is set
	// AskedID is the id of the event that queued the run; "" if it cannot be read.
	AskedID string
	Media   []delivery.Named // that the answer names, if it is posted
	Now     time.Time
}

// addConsequences adds the consequences to a run's final end. Errors concern the whole log file: the end has to be retried
// with its consequences.
func (r *Runs) addConsequences(tx eventstore.Tx, result run.Result, q *queuedRun, o *outcome, end []eventstore.StreamAppend, now time.Time) ([]eventstore.StreamAppend, error) {
	o.followed = false
	if r.next == nil || o.alone {
		return end, nil
	}
	follows, err := r.consequences(tx, &EndedRun{Asked: requestOf(q, &result), Result: result, AskedID: q.id, Media: o.media, Now: now})
	if err == nil {
		err = checkAppend(tx, end, follows)
	}
	switch {
	case err == nil:
		o.followed = len(follows) > 0
		return append(end, follows...), nil
	case r.log.Fatal(err):
		return nil, err
	}
	r.logWithoutConsequences(result.RunID, err)
	return end, nil
}

// logWithoutConsequences logs that an end is stored without its consequences.
func (r *Runs) logWithoutConsequences(runID string, why error) {
	r.logger.Error("cannot store the follow-up events of a run; skipped", "run", runID, "err", why)
}

// consequences isolates panics in Options.Then from the end of the run.
func (r *Runs) consequences(tx eventstore.Tx, e *EndedRun) (follows []eventstore.StreamAppend, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		follows, err = nil, fmt.Errorf("panic: %v", p)
		if cause, is := p.(error); is {
			err = fmt.Errorf("panic: %w", cause)
		}
		r.logger.Error("panic in what follows from the end of a run", "run", e.Result.RunID, "panic", p, "stack", string(debug.Stack()))
	}()
	return r.next(tx, e)
}

// requestOf is the run's request. If it is not read or redacted, ids and context come from the tables.
func requestOf(q *queuedRun, r *run.Result) *coordination.RunQueued {
	asked := q.RunQueued
	if asked.RunID != "" {
		return &asked
	}
	asked.RunID, asked.SessionKey, asked.Lane, asked.Cause, asked.RetryOf, asked.JobID = r.RunID, r.SessionKey, r.Lane, r.Cause, r.RetryOf, r.JobID
	asked.WorkSessionID = cmp.Or(asked.WorkSessionID, r.WorkSessionID)
	asked.ConversationID = cmp.Or(asked.ConversationID, r.ConversationID)
	asked.ParentRunID = cmp.Or(asked.ParentRunID, r.ParentRunID)
	return &asked
}

// checkAppend returns why the log would reject the consequences, which would also reject the end.
func checkAppend(tx eventstore.Tx, own, follows []eventstore.StreamAppend) error {
	added := map[string]int64{}
	for _, a := range own {
		added[a.Stream] += int64(len(a.Events))
	}
	for i := range follows {
		a := &follows[i]
		if err := a.Check(); err != nil {
			return err
		}
		if a.Expect != eventstore.Any() {
			version, err := eventstore.StreamVersion(tx, a.Stream)
			if err != nil {
				return fmt.Errorf("check stream %s: %w", a.Stream, err)
			}
			version += added[a.Stream]
			if !a.Expect.Holds(version) {
				return &eventstore.ConflictError{Stream: a.Stream, Expected: a.Expect, Actual: version}
			}
		}
		added[a.Stream] += int64(len(a.Events))
	}
	return nil
}
