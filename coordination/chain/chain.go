// Package chain decides whether agents may continue to cause each other to act. Each run has a place in a chain of
// causes: the chain began with a request of a person or a client, and was passed on from agent to agent since, by
// messages, sub-agents, approvals, plans, requests for help or Discord. The chain is derived from the log alone: no id
// invented by a model or a client escapes it. Package chain is pure.
package chain

import (
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Link is a run's place in its chain. The zero Link is outside of any: what it passes on begins one.
type Link struct {
	Root string // the run with which the chain began
	Hop  int    // how often it was passed on from agent to agent since
}

// Next is the place of what is passed on from here.
func (l Link) Next() Link { return Link{Root: l.Root, Hop: l.Hop + 1} }

// At is the place of an event of a run with this root and hop; without a root the chain begins with the run itself.
func At(root string, hop *int) Link {
	l := Link{Root: root}
	if hop != nil {
		l.Hop = *hop
	}
	return l
}

// Rest is how long nothing must happen before a prompt of openclawd counts as no further than the first hop of its
// chain: such prompts are paced by the clock and not by agents. They still count to the same chain.
const Rest = 2 * time.Minute

// Rested is the place of a prompt that follows from here after that much time.
func (l Link) Rested(since time.Duration) Link {
	if since >= Rest {
		l.Hop = 0
	}
	return l
}

// Limits bound a chain by its length, by what two agents pass to each other, and by everything that it passes on:
// within Window, and within Day.
type Limits struct {
	Hops     int
	Pair     int // between the same two agents, in both directions together
	Cause    int
	CauseDay int
	Window   time.Duration
}

// Day is the long window.
const Day = 24 * time.Hour

// DefaultLimits suit a working team. A person's request seldom goes further than from the lead to a specialist, to a
// helper and back: 20 hops are several times as many. A broadcast to the largest team is 50 messages at once, so a
// chain may pass on 200 times within ten minutes, once every three seconds all that time; a pair may 50 times, which
// is five times what collaborate allows it in the open; and an unattended day of work has 2,000.
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
type Refusal = coordination.Refusal[Details]

// Details distinguishes the refusals of this package.
type Details struct{}

// hint is for a refused agent.
const hint = "do not try again with other ids or words: finish with what is there, say what is left in your answer, and let a person decide how to go on"

// Pass is something about to be passed on.
type Pass struct {
	Link           // its place in the chain
	From, To       string
	Ahead          int   // how many the same transaction passes on before, in the same chain
	Now            int64 // ms since 1970
	NthAt, Between Nth
}

// Nth is when the nth newest was passed on, counted from 1, in ms since 1970; 0 if there are fewer.
type Nth func(n int) (at int64, err error)

// Length returns a Refusal if the chain is too long to pass something on, otherwise nil.
func (l *Limits) Length(at Link) *Refusal {
	if at.Hop <= l.Hops {
		return nil
	}
	return &Refusal{Reason: CodeHops, Text: fmt.Sprintf("this was passed on between agents %d times; at most %d are allowed", at.Hop, l.Hops), HintText: hint}
}

// Judge returns a Refusal if something must not be passed on, otherwise nil. Errors are those of the counts that it
// reads.
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
		{CodeCause, l.Cause, p.Ahead, l.Window, p.NthAt, "one request was passed on between agents"},
		{CodeCause, l.CauseDay, p.Ahead, Day, p.NthAt, "one request was passed on between agents"},
		{CodePair, l.Pair, 0, l.Window, p.Between, p.From + " and " + p.To + " passed one request on to each other"},
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
			return &Refusal{Reason: bound.code, Text: fmt.Sprintf("%s: %d times within %s, which is the limit", bound.text, bound.most, bound.in), HintText: hint}, nil
		}
	}
	return nil, nil
}

// Pair returns the same key for both directions.
func Pair(a, b string) string { return min(a, b) + "|" + max(a, b) }

// Forbidden is the event a2a.forbidden: something was not passed on from one agent to another in that session.
func Forbidden(r *Refusal, in coordination.Context, from, to, session string) coordination.A2ARefusal {
	in.EventRole = coordination.RoleObservability
	return coordination.A2ARefusal{Context: in, FromAgent: from, ToAgent: to, TargetSessionKey: session, Code: r.Reason, Reason: r.Text}
}
