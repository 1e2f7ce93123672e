package conversations

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// thread is one row of threads.
type thread struct {
	id          int64
	session     int64
	key         string
	parent      string
	from, to    string
	start, last float64
	events      int64
	stepTime    float64
	stepSeq     int64
	open        bool
	outcome     coordination.Outcome
	reason      string
	code        coordination.ReasonCode // of reason
	tally       tally
}

type threadKey struct {
	session int64
	key     string
}

func newThreads(table string) *projections.Table[threadKey, thread] {
	return projections.NewTable(projections.Columns[threadKey, thread]{
		Table: table, Key: 1, Fixed: 3, Keep: 8_000,
		Names: []string{"id", "session_id", "key", "parent_id", "from_agent", "to_agent", "start_time", "last_time",
			"event_count", "step_time", "step_seq", "open", "outcome", "reason", "category", "votes", "reason_code"},
		Lookup: "session_id = ? AND key = ?", LookUp: func(k threadKey) []any { return []any{k.session, k.key} },
		Scan: func(r eventstore.Row, t *thread) error {
			*t = thread{id: r.Int(0), session: r.Int(1), key: r.Text(2), parent: r.Text(3), from: r.Text(4), to: r.Text(5),
				start: r.Float(6), last: r.Float(7), events: r.Int(8), stepTime: r.Float(9), stepSeq: r.Int(10), open: r.Int(11) != 0,
				outcome: coordination.Outcome(r.Text(12)), reason: r.Text(13), code: coordination.ReasonCode(r.Text(16))}
			var err error
			if t.tally, err = parseTally(r.Text(15)); err != nil {
				return fmt.Errorf("votes of thread %d: %w", t.id, err)
			}
			return nil
		},
		Args: func(args []any, t *thread) []any {
			return append(args, t.id, t.session, t.key, t.parent, t.from, t.to, t.start, t.last, t.events, t.stepTime, t.stepSeq, t.open,
				string(t.outcome), t.reason, string(t.tally.winner()), t.tally.format(), string(t.code))
		},
	})
}

// thread folds the event into its thread and maintains the session's counts of open threads and outcomes.
func (p *projector) thread(tx eventstore.Tx, e *projections.Event, s *session) (*thread, error) {
	r := &e.Record
	key, _ := coordination.ThreadKey(r)
	edit := p.threads.Edit
	if s.isNew() {
		edit = p.threads.EditNew
	}
	t, existed, err := edit(tx, threadKey{s.id, key})
	if err != nil {
		return nil, err
	}
	if !existed {
		*t = thread{id: e.Seq, session: s.id, key: key, start: r.Time, last: r.Time}
		t.from, t.to = parties(r)
		s.threads++
	}
	if r.Time < t.start {
		t.start = r.Time
		t.from, t.to = parties(r)
	}
	t.last = max(t.last, r.Time)
	t.events++
	if t.parent == "" && r.ParentConversationID != r.ConversationID {
		t.parent = r.ParentConversationID
	}
	t.tally.add(&e.Class)

	step := coordination.ThreadStep(r)
	if newer(t.stepTime, t.stepSeq, r.Time, e.Seq) {
		return t, nil
	}
	wasOpen, was := t.open, t.outcome
	switch {
	case step.Affects:
		t.apply(step, r.Time, e.Seq)
	case step.Settles && t.failed():
		t.outcome, t.reason, t.code = coordination.OutcomeDone, "", ""
	default:
		return t, nil
	}
	s.countOutcome(was, -1)
	s.countOutcome(t.outcome, +1)
	s.openThreads += one(t.open) - one(wasOpen)
	return t, nil
}

// apply updates the thread. An ordinary end of an exchange that was blocked or got no reply does not make it a success.
func (t *thread) apply(step coordination.Step, time float64, seq int64) {
	t.stepTime, t.stepSeq, t.open = time, seq, step.Open
	if t.failed() && step.Outcome == coordination.OutcomeDone {
		return
	}
	t.outcome, t.reason, t.code = step.Outcome, step.Reason, step.Code
}

func (t *thread) failed() bool {
	return t.outcome == coordination.OutcomeBlocked || t.outcome == coordination.OutcomeNoReply
}

// parties returns the agents that an event names, "unknown" if missing.
func parties(r *coordination.Record) (from, to string) {
	from, to = r.From(), r.To()
	if from == "" {
		from = coordination.UnknownAgent
	}
	if to == "" {
		to = coordination.UnknownAgent
	}
	return from, to
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
