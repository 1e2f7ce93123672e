package runner

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Ending is the end of a run.
type Ending struct {
	Asked  *coordination.RunQueued // what was asked for; of one that was redacted, or stopped before it began, its context and ids alone
	Result run.Result              // as it is after the end; Over is set
	// AskedID is the id of the event that asked for the run; "" where that cannot be read.
	AskedID string
	Now     time.Time
}

// following adds to what ends a run for good what follows from that. Errors are those of the log: its whole file is in trouble, and the end
// has to be tried again with what follows from it.
func (r *Runner) following(tx eventstore.Tx, result run.Result, q *queued, o *outcome, end []eventstore.StreamAppend, now time.Time) ([]eventstore.StreamAppend, error) {
	o.followed = false
	if r.o.Then == nil || o.alone {
		return end, nil
	}
	follows, err := r.then(tx, &Ending{Asked: askedOf(q, &result), Result: result, AskedID: q.id, Now: now})
	if err == nil {
		err = wouldTake(tx, end, follows)
	}
	switch {
	case err == nil:
		o.followed = len(follows) > 0
		return append(end, follows...), nil
	case r.o.Log.Fatal(err):
		return nil, err
	}
	r.tellAlone(result.RunID, err)
	return end, nil
}

// tellAlone says that nothing follows from the end of a run though it should.
func (r *Runner) tellAlone(runID string, why error) {
	r.o.Logger.Error("a run ends without what follows from its end", "run", runID, "err", why)
}

// then keeps what breaks in Options.Then from the end of the run.
func (r *Runner) then(tx eventstore.Tx, e *Ending) (follows []eventstore.StreamAppend, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		follows, err = nil, fmt.Errorf("panic: %v", p)
		if cause, is := p.(error); is {
			err = fmt.Errorf("panic: %w", cause)
		}
		r.o.Logger.Error("what follows from the end of a run panicked", "run", e.Result.RunID, "panic", p, "stack", string(debug.Stack()))
	}()
	return r.o.Then(tx, e)
}

// askedOf is what was asked for. Where that is not read, or is redacted, the tables still say which run it is and where it belongs.
func askedOf(q *queued, r *run.Result) *coordination.RunQueued {
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

const selectVersion = "SELECT coalesce(max(e.version), 0) FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ?"

// wouldTake gives why the log would not take what follows from an end, which would keep it from taking the end.
func wouldTake(tx eventstore.Tx, own, follows []eventstore.StreamAppend) error {
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
			version := added[a.Stream]
			err := tx.Query(selectVersion, []any{a.Stream}, func(row eventstore.Row) error {
				version += row.Int(0)
				return nil
			})
			if err != nil {
				return fmt.Errorf("look at stream %s: %w", a.Stream, err)
			}
			if !a.Expect.Holds(version) {
				return &eventstore.ConflictError{Stream: a.Stream, Expected: a.Expect, Actual: version}
			}
		}
		added[a.Stream] += int64(len(a.Events))
	}
	return nil
}
