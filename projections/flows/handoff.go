package flows

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// given is a row of a2a_handoffs.
type given struct {
	seq                       int64
	job                       string // name of its flow
	about                     about
	hash                      string
	runID                     string
	conversation, workSession string
	at                        int64
	state, status             string
	replySeq, replyAt         int64 // first answer in its exchange
	answeredSeq, answeredAt   int64
	endedSeq                  int64
}

func newHandoffs(table string) *projections.Table[int64, given] {
	return projections.NewTable(projections.Columns[int64, given]{
		Table: table, Key: 1, Fixed: 11, Keep: 2_000,
		Names: []string{"seq", "job", "type", "from_agent", "to_agent", "subject", "hash", "run_id", "conversation_id", "work_session_id", "at",
			"state", "status", "reply_seq", "reply_at", "answered_seq", "answered_at", "ended_seq"},
		Lookup: "seq = ?", LookUp: func(seq int64) []any { return []any{seq} },
		Scan: func(r eventstore.Row, g *given) error {
			*g = given{seq: r.Int(0), job: r.Text(1), about: about{kind: handoff.Type(r.Text(2)), from: r.Text(3), to: r.Text(4), subject: r.Text(5)},
				hash: r.Text(6), runID: r.Text(7), conversation: r.Text(8), workSession: r.Text(9), at: r.Int(10), state: r.Text(11), status: r.Text(12),
				replySeq: r.Int(13), replyAt: r.Int(14), answeredSeq: r.Int(15), answeredAt: r.Int(16),
				endedSeq: r.Int(17)}
			return nil
		},
		Args: func(args []any, g *given) []any {
			return append(args, g.seq, g.job, string(g.about.kind), g.about.from, g.about.to, g.about.subject, g.hash, g.runID, g.conversation, g.workSession,
				g.at, g.state, g.status, g.replySeq, g.replyAt, g.answeredSeq, g.answeredAt, g.endedSeq)
		},
	})
}

// about is the key of which at most one handoff is open.
type about struct {
	from, to string
	kind     handoff.Type
	subject  string
}

func aboutOf(from, to string, t handoff.Type, subject string) about {
	return about{strings.ToLower(from), strings.ToLower(to), t, subject}
}

// latest is a row of a2a_open_handoffs.
type latest struct {
	about
	seq int64 // 0: none is open
}

func newOpen(table string) *projections.Table[about, latest] {
	return projections.NewTable(projections.Columns[about, latest]{
		Table: table, Key: 4, Fixed: 4, Keep: 1_000, Names: []string{"from_agent", "to_agent", "type", "subject", "seq"},
		Lookup: "from_agent = ? AND to_agent = ? AND type = ? AND subject = ?",
		LookUp: func(a about) []any { return []any{a.from, a.to, string(a.kind), a.subject} },
		Scan: func(r eventstore.Row, l *latest) error {
			*l = latest{about{r.Text(0), r.Text(1), handoff.Type(r.Text(2)), r.Text(3)}, r.Int(4)}
			return nil
		},
		Args:  func(args []any, l *latest) []any { return append(args, l.from, l.to, string(l.kind), l.subject, l.seq) },
		Empty: func(l *latest) bool { return l.seq == 0 },
	})
}

// sent folds what a flow of ours has sent: a payload opens a handoff, or answers an open one.
func (p *projector) sent(tx eventstore.Tx, e *projections.Event) error {
	d, x, err := p.job(tx, e)
	if err != nil || x == nil || x.sent != 0 || x.over != 0 {
		return err
	}
	if x, _, err = p.jobs.Edit(tx, x.name); err != nil {
		return err
	}
	x.sent = e.Seq
	if x.kind != a2a.Send || d.payloadType == "" || d.payloadType != x.payloadType || x.subject == "" {
		return nil
	}
	switch t := handoff.Type(x.payloadType); t {
	case handoff.TaskDelegation, handoff.Question:
		return p.give(tx, e, x, aboutOf(x.from, x.to, t, x.subject))
	default:
		return p.reported(tx, e, x.from, x.to, d)
	}
}

// give opens a handoff. An open one with the same key is replaced.
func (p *projector) give(tx eventstore.Tx, e *projections.Event, x *row, a about) error {
	if err := p.end(tx, a, e.Seq, func(before *given) { before.state = HandoffReplaced }); err != nil {
		return err
	}
	g, _, err := p.handoffs.EditNew(tx, e.Seq)
	if err != nil {
		return err
	}
	*g = given{seq: e.Seq, job: x.name, about: a, hash: x.hash, runID: x.job(), conversation: x.conversation, workSession: x.workSession, at: e.TS,
		state: HandoffOpen}
	l, _, err := p.open.Edit(tx, a)
	if err != nil {
		return err
	}
	*l = latest{a, e.Seq}
	return nil
}

// end closes the open handoff of a key, if there is one, in the state returned by how; if that is still open, it stays
// open. by is the seq of the event that does it.
func (p *projector) end(tx eventstore.Tx, a about, by int64, how func(*given)) error {
	l, err := p.open.Get(tx, a)
	if err != nil || l == nil || l.seq == 0 {
		return err
	}
	g, _, err := p.handoffs.Edit(tx, l.seq)
	if err != nil {
		return err
	}
	if how(g); g.state == HandoffOpen {
		return nil
	}
	g.endedSeq = by
	l, _, err = p.open.Edit(tx, a)
	if err != nil {
		return err
	}
	l.seq = 0
	return nil
}

// answered folds an answer in one of our flows: it answers the handoff with which the flow began, and may contain a
// payload of its own.
func (p *projector) answered(tx eventstore.Tx, e *projections.Event) error {
	d, x, err := p.job(tx, e)
	if err != nil || x == nil || x.kind != a2a.Send || x.over != 0 {
		return err
	}
	from, to := strings.ToLower(d.from), strings.ToLower(d.to)
	if d.outcome == "" && from == x.to && to == x.from {
		if err := p.replied(tx, e, x); err != nil {
			return err
		}
	}
	if from == x.from && to == x.to || from == x.to && to == x.from {
		return p.reported(tx, e, from, to, d)
	}
	return nil
}

// replied records the first answer to a flow's handoff.
func (p *projector) replied(tx eventstore.Tx, e *projections.Event, x *row) error {
	g, err := p.handoff(tx, x)
	if err != nil || g == nil || g.state != HandoffOpen || g.replySeq != 0 {
		return err
	}
	if g, _, err = p.handoffs.Edit(tx, x.sent); err != nil {
		return err
	}
	g.replySeq, g.replyAt = e.Seq, e.TS
	return nil
}

// reported records that a payload answers a question, or reports the progress of a delegation, that the other side has
// open about its subject.
func (p *projector) reported(tx eventstore.Tx, e *projections.Event, from, to string, d *eventData) error {
	t := handoff.Type(d.payloadType)
	if t != handoff.Answer && t != handoff.StatusReport {
		return nil
	}
	payload, _ := handoff.Parse(d.payload)
	if payload == nil || payload.Type != t {
		return nil
	}
	if t == handoff.Answer {
		return p.end(tx, aboutOf(to, from, handoff.Question, payload.Subject), e.Seq, func(g *given) {
			g.state, g.answeredSeq, g.answeredAt = HandoffAnswered, e.Seq, e.TS
		})
	}
	return p.end(tx, aboutOf(to, from, handoff.TaskDelegation, payload.Subject), e.Seq, func(g *given) {
		if g.status = payload.Status; g.status == "completed" || g.status == "failed" {
			g.state, g.answeredSeq, g.answeredAt = HandoffAnswered, e.Seq, e.TS
		}
	})
}

// settled records that a flow is over: its open handoff fails with it, except that a question answered in it is
// answered.
func (p *projector) settled(tx eventstore.Tx, x *row) error {
	g, err := p.handoff(tx, x)
	if err != nil || g == nil || g.state != HandoffOpen {
		return err
	}
	return p.end(tx, g.about, x.over, func(g *given) {
		switch {
		case x.outcome != a2a.OutcomeOK:
			g.state = HandoffFailed
		case g.about.kind == handoff.Question:
			g.state, g.answeredSeq, g.answeredAt = HandoffAnswered, g.replySeq, g.replyAt
		}
	})
}

// job parses an event outside of a job's stream and finds its flow; nil if that is not ours.
func (p *projector) job(tx eventstore.Tx, e *projections.Event) (*eventData, *row, error) {
	d := read(e)
	if d.jobID == "" {
		return d, nil, nil
	}
	x, err := p.jobs.Get(tx, nameOf(d.jobID))
	return d, x, err
}

// handoff returns the handoff of a flow, read-only; nil if none.
func (p *projector) handoff(tx eventstore.Tx, x *row) (*given, error) {
	if x.sent == 0 || x.subject == "" {
		return nil, nil
	}
	return p.handoffs.Get(tx, x.sent)
}
