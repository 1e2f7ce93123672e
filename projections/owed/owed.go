// Package owed decides who owes an answer to whom: flows between agents, handoffs and requests in Discord, in one list. Decide is pure: Read
// reads what it needs from the tables of several projections.
package owed

import (
	"cmp"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination/response"
)

// Kind is the kind of what is answered.
type Kind string

const (
	Flow    Kind = "flow"    // an exchange between agents, or a delegation to a sub-agent, without an open handoff
	Handoff Kind = "handoff" // a delegation or a question that programs read
	Request Kind = "request" // a request in Discord
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Flow, Handoff, Request} }

// State says how far an item is. The delivery is apart: see Item.DeliveredAt.
type State string

const (
	Sending     State = "sending"     // it is not delivered yet
	Waiting     State = "waiting"     // it is delivered, and the answer awaited
	Reminded    State = "reminded"    // likewise; the answerer was reminded
	Escalated   State = "escalated"   // likewise; people were told
	Answered    State = "answered"    // in time
	Late        State = "late"        // answered after the escalation
	Undelivered State = "undelivered" // it cannot be delivered, or that is unknown
	NoReply     State = "no_reply"    // ended without an answer
	Ended       State = "ended"       // ended otherwise: Reason says how
	Replaced    State = "replaced"    // by a later handoff about the same
)

// DueGrace is for how long what was due is not overdue yet.
const DueGrace = time.Minute

// FlowOverdue reports whether an open flow should have been checked, at a time in ms since 1970, as all times. dueAt is 0 for none.
func FlowOverdue(dueAt, now int64) bool { return dueAt > 0 && now-dueAt > DueGrace.Milliseconds() }

// RequestOverdue reports whether an answer should have come: its answerer was reminded, or people were told.
func RequestOverdue(status response.Status, step int) bool {
	return status == response.StatusEscalated || status == response.StatusPending && step > 0
}

// Fact is what Decide knows of an open item.
type Fact struct {
	Kind   Kind
	Seq    int64 // of the table's row
	Since  int64
	DueAt  int64           // of the flow; 0: none
	Status response.Status // of a request
	Step   int             // of a request
}

func (f *Fact) overdue(now int64) bool {
	if f.Kind == Request {
		return RequestOverdue(f.Status, f.Step)
	}
	return FlowOverdue(f.DueAt, now)
}

// Place is the place of an item in the list.
type Place struct {
	Kind    Kind
	Seq     int64
	Overdue bool
}

// Decide orders open items: overdue ones first, then the oldest. It returns at most limit of them, 0 is all, and how many are overdue.
func Decide(facts []Fact, now int64, limit int) (list []Place, overdue int) {
	sorted := slices.Clone(facts)
	rank := func(f *Fact) int {
		if f.overdue(now) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(sorted, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.Since, b.Since), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Seq, b.Seq))
	})
	for i := range sorted {
		late := sorted[i].overdue(now)
		if late {
			overdue++
		}
		if limit == 0 || len(list) < limit {
			list = append(list, Place{sorted[i].Kind, sorted[i].Seq, late})
		}
	}
	return list, overdue
}
