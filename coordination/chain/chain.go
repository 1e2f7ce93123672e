// Package chain decides whether agents may go on causing each other to act. Each run stands in a chain of causes: it began with what a person or a
// client has asked for, and was passed on from agent to agent since, by messages, sub-agents, approvals, plans, requests for help or Discord. The
// chain follows from the log alone: no id that a model or a client makes up leads out of it. Package chain is pure.
package chain

import (
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Link is where a run stands in its chain. The zero Link is outside of any: what it passes on begins one.
type Link struct {
	Root string // the run with which the chain began
	Hop  int    // how often it was passed on from agent to agent since
}

// Next is where that stands which is passed on from here.
func (l Link) Next() Link { return Link{Root: l.Root, Hop: l.Hop + 1} }

// At is where an event of a run stands that says root and hop, and nothing of a root where the chain begins with the run itself.
func At(root string, hop *int) Link {
	l := Link{Root: root}
	if hop != nil {
		l.Hop = *hop
	}
	return l
}

// Rest is how long nothing has to happen before openclawd sends a prompt that is no hop further than the first one of its chain: that is paced by
// the clock and not by what agents say. It still counts to the same chain.
const Rest = 2 * time.Minute

// Rested is where a prompt stands that follows from here after so long a time.
func (l Link) Rested(since time.Duration) Link {
	if since >= Rest {
		l.Hop = 0
	}
	return l
}

// Limits bound a chain by its length, by what two agents pass to each other, and by all that it passes on: within Window, and within Day.
type Limits struct {
	Hops     int
	Pair     int // between the same two agents, in both directions together
	Cause    int
	CauseDay int
	Window   time.Duration
}

// Day is the long window.
const Day = 24 * time.Hour

// DefaultLimits are those of a team that works. What a person asks for once seldom goes further than from the lead to a specialist, to a helper and
// back: 20 hops are several times as many. A broadcast to the largest team is 50 messages at once, so that a chain may pass on 200 times within ten
// minutes, once every three seconds all that time; a pair may 50 times, which is five times what collaborate allows it in the open; and a day of
// work that nobody looks at has 2,000.
func DefaultLimits() Limits {
	return Limits{Hops: 20, Pair: 50, Cause: 200, CauseDay: 2_000, Window: 10 * time.Minute}
}

// Codes of refusals.
const (
	CodeHops  = "too_many_hops"
	CodePair  = "too_many_between" // two agents
	CodeCause = "too_many_flows"
)

// IsCode reports whether a code says that a chain was cut.
func IsCode(code string) bool { return code == CodeHops || code == CodePair || code == CodeCause }

// Refusal says why something is not passed on.
type Refusal struct{ Code, Text, Mend string }

func (r *Refusal) Error() string { return r.Text }

// mend is what an agent does that is refused.
const mend = "do not try again with other ids or words: finish with what is there, say what is left in your answer, and let a person decide how to go on"

// Pass is something that is about to be passed on.
type Pass struct {
	Link           // where that stands which is passed on
	From, To       string
	Ahead          int   // of the same chain, that the same transaction passes on before
	Now            int64 // ms since 1970
	NthAt, Between Nth
}

// Nth is when the nth newest was passed on, counted from 1, in ms since 1970; 0 if there are not so many.
type Nth func(n int) (at int64, err error)

// Length says what the length of the chain has against it that something is passed on, nil for nothing.
func (l *Limits) Length(at Link) *Refusal {
	if at.Hop <= l.Hops {
		return nil
	}
	return &Refusal{CodeHops, fmt.Sprintf("this was passed on between agents %d times, at most %d are allowed", at.Hop, l.Hops), mend}
}

// Judge says what stands against it that something is passed on, nil for nothing. Errors are those of what it counts by.
func (l *Limits) Judge(p *Pass) (*Refusal, error) {
	if why := l.Length(p.Link); why != nil {
		return why, nil
	}
	for _, bound := range []struct {
		code  string
		most  int
		ahead int
		in    time.Duration
		nth   Nth
		text  string
	}{
		{CodeCause, l.Cause, p.Ahead, l.Window, p.NthAt, "what was asked for once has agents passing on to each other"},
		{CodeCause, l.CauseDay, p.Ahead, Day, p.NthAt, "what was asked for once has agents passing on to each other"},
		{CodePair, l.Pair, 0, l.Window, p.Between, p.From + " and " + p.To + " pass on to each other what was asked for once"},
	} {
		full := bound.ahead >= bound.most
		if !full {
			at, err := bound.nth(bound.most - bound.ahead)
			if err != nil {
				return nil, err
			}
			full = at != 0 && p.Now-at < bound.in.Milliseconds()
		}
		if full {
			return &Refusal{bound.code, fmt.Sprintf("%s: %d times within %s, which is the limit", bound.text, bound.most, bound.in), mend}, nil
		}
	}
	return nil, nil
}

// Pair is the same for both directions.
func Pair(a, b string) string { return min(a, b) + "|" + max(a, b) }

// Forbidden tells that something was not passed on, from one agent to another one in that session. The event is a2a.forbidden.
func (r *Refusal) Forbidden(in coordination.Context, from, to, session string) coordination.A2ARefusal {
	in.EventRole = coordination.RoleObservability
	return coordination.A2ARefusal{Context: in, FromAgent: from, ToAgent: to, TargetSessionKey: session, Code: r.Code, Reason: r.Text}
}
