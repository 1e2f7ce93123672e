package delivery

import (
	"cmp"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Do is a kind of step.
type Do string

const (
	OpenThread Do = "open_thread"
	FindThread Do = "find_thread" // search for a thread that may have been opened
	PostOne    Do = "post_message"
	FindOne    Do = "find_message" // search for a message that may have been posted
	Wait       Do = "wait"
	End        Do = "end"
)

// Step is the next step of a delivery.
type Step struct {
	Do      Do
	Index   int           // of the message
	Since   int64         // of a search: the earliest time of the action, ms since 1970
	Wait    time.Duration // before calling Next again
	Outcome Outcome       // of End
}

const (
	nonceHolds = time.Minute // for at least how long Discord deduplicates by nonce
	maxBroken  = 10          // interrupted attempts at one step
	looks      = 5           // repeated searches per class of failure
	lookPause  = time.Second // before the first repeated search; doubles each time
)

// Next returns the next step at now, ms since 1970. Its result must be recorded in p before Next is called again.
func Next(d *Delivery, p *Progress, now int64) Step {
	channel := d.traits()
	s := Step{Do: PostOne, Index: len(p.MessageIDs), Since: cmp.Or(p.since, now)}
	find, deed := FindOne, collaborate.PostMessage
	switch {
	case d.Open != nil && !p.Opened:
		s.Do, find, deed = OpenThread, FindThread, collaborate.OpenThread
	case s.Index >= d.Posts():
		return Step{Do: End, Outcome: p.outcome(d, Done)}
	}
	n := p.follows(d, deed)
	if p.look.last == "" && n.Wait > 0 && !p.waited {
		return Step{Do: Wait, Wait: n.Wait}
	}
	if p.looks(&n, deed, now, &channel) {
		switch wait, again := p.look.retry(); {
		case again && wait > 0 && !p.waited:
			return Step{Do: Wait, Wait: wait}
		case again:
			s.Do = find
			return s
		case p.look.last == collaborate.ClassNotFound:
			n = p.look.follows(d, collaborate.PostMessage) // the place is gone, with everything in it
		case !p.insisted:
			return Step{Do: End, Outcome: p.given(d, Unknown, collaborate.Blind())}
		}
	}
	switch {
	case n.Retry:
		return s
	case n.Redecide:
		return Step{Do: End, Outcome: p.given(d, Reroute, n)}
	case n.Unknown:
		return Step{Do: End, Outcome: p.given(d, Unknown, n)}
	}
	return Step{Do: End, Outcome: p.given(d, Failed, n)}
}

// follows returns the consequence of the last failure of the step.
func (p *Progress) follows(d *Delivery, deed collaborate.Operation) collaborate.Next {
	switch {
	case p.deed.last == ClassAccepted:
		n := collaborate.Blind()
		n.Look = true
		return n
	case p.broken > maxBroken:
		return collaborate.Next{Look: true, Code: collaborate.CodeUnavailable, Escalate: true}
	case p.deed.last == "":
		return collaborate.Next{Retry: true}
	}
	return p.deed.follows(d, deed)
}

func (t *tries) follows(d *Delivery, deed collaborate.Operation) collaborate.Next {
	if t.last == ClassNoBot {
		return collaborate.Next{Code: collaborate.CodeAccount, Escalate: true}
	}
	f := failureOf(t.last)
	f.RetryAfter = t.retryAfter
	return collaborate.After(collaborate.Attempt{Deed: deed, Route: d.Route, Failure: f, Failures: t.failures[t.last]})
}

// retry reports whether to search once more, and how long to wait before. A search has no side effects, so it is tried longer than
// anything else.
func (t *tries) retry() (wait time.Duration, again bool) {
	switch n := t.failures[t.last]; t.last {
	case "":
		return 0, true
	case collaborate.ClassRateLimited:
		return max(t.retryAfter, lookPause), n <= looks
	case collaborate.ClassUnavailable, collaborate.ClassUnsent, collaborate.ClassTimeout, collaborate.ClassLost:
		return max(t.retryAfter, lookPause<<(n-1)), n <= looks
	}
	return 0, false
}

// looks reports whether to search first: always where the action may have been carried out, unless the channel still deduplicates by
// nonce.
func (p *Progress) looks(n *collaborate.Next, deed collaborate.Operation, now int64, channel *coordination.Channel) bool {
	if p.looked || !p.unsure {
		return false
	}
	return n.Look || !n.Retry || p.deed.last == "" || deed == collaborate.OpenThread || !channel.Nonces || now-p.unsureAt > nonceHolds.Milliseconds()
}

func (p *Progress) outcome(d *Delivery, s State) Outcome {
	return Outcome{State: s, ThreadID: cmp.Or(p.ThreadID, d.ThreadID), ThreadName: p.ThreadName, MessageIDs: p.MessageIDs, SentAt: p.SentAt}
}

// given returns the outcome of giving up.
func (p *Progress) given(d *Delivery, s State, n collaborate.Next) Outcome {
	o := p.outcome(d, s)
	o.Code, o.Escalate, o.Forget = n.Code, n.Escalate, n.Forget
	if s == Reroute {
		o.Code = collaborate.CodeNotFound
	}
	o.Hint = cmp.Or(p.Hint, Hint(d.Channel, o.Code))
	o.Text = cmp.Or(p.Text, "an attempt was broken off")
	what, format := "the thread", "%s was not %s: %s"
	done := "opened"
	if d.Open == nil || p.Opened {
		what, done = fmt.Sprintf("message %d of %d", len(p.MessageIDs)+1, d.Posts()), "posted"
	}
	if s == Unknown {
		format, o.Hint = "cannot confirm whether %s was %s: %s", Hint(d.Channel, o.Code)
	}
	o.Text = fmt.Sprintf(format, what, done, o.Text)
	return o
}

// Hint suggests what to do about a delivery to a channel that was given up with code, where the failure brought no better hint.
func Hint(channel, code string) string {
	c, _ := coordination.ChannelNamed(channel)
	switch code {
	case collaborate.CodeDenied:
		return "give the bot's role the permission to post there, then resend it"
	case collaborate.CodeNotFound:
		return "check that the channel or thread still exists"
	case collaborate.CodeUnauthorized:
		return "set the bot's token in channels." + c.Name + ".accounts"
	case collaborate.CodeAccount:
		return "add the account to channels." + c.Name + ".accounts, then resend it"
	case collaborate.CodeUnknown:
		return "look for the message in " + c.Title + "; if it is missing, post it with: openclawd work resend EFFECT"
	case collaborate.CodeRejected:
		return c.Title + " rejected the request: change it and ask again"
	case collaborate.CodeRateLimited:
		return "wait, then resend it"
	case collaborate.CodeUnavailable, collaborate.CodeTimeout:
		return "see " + c.Status + ", then resend it"
	}
	return ""
}

// failureOf returns a failure that collaborate.Classify puts into class c.
func failureOf(c collaborate.Class) collaborate.Failure {
	switch c {
	case collaborate.ClassForbidden:
		return collaborate.Failure{Status: 403}
	case collaborate.ClassNotFound:
		return collaborate.Failure{Status: 404}
	case collaborate.ClassUnauthorized:
		return collaborate.Failure{Status: 401}
	case collaborate.ClassRateLimited:
		return collaborate.Failure{Status: 429}
	case collaborate.ClassRejected:
		return collaborate.Failure{Status: 400}
	case collaborate.ClassUnavailable:
		return collaborate.Failure{Status: 500}
	case collaborate.ClassTimeout:
		return collaborate.Failure{TimedOut: true}
	case collaborate.ClassUnsent:
		return collaborate.Failure{Unsent: true}
	}
	return collaborate.Failure{}
}

// unsure reports whether an action that failed with c may still have been carried out.
func unsure(c collaborate.Class) bool {
	if c == ClassAccepted {
		return true
	}
	for _, r := range collaborate.Rules() {
		if r.Class == c {
			return r.Unsure
		}
	}
	return false
}
