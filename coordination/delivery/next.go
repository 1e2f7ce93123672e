package delivery

import (
	"cmp"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Do is what is done next.
type Do string

const (
	OpenThread Do = "open_thread"
	FindThread Do = "find_thread" // it may have been opened
	PostOne    Do = "post_message"
	FindOne    Do = "find_message" // it may have been posted
	Wait       Do = "wait"
	End        Do = "end"
)

// Step is the one thing to do about a delivery now.
type Step struct {
	Do      Do
	Index   int           // of the message
	Since   int64         // of what is looked for: when it may have been done at the earliest, ms since 1970
	Wait    time.Duration // until Next is asked again
	Outcome Outcome       // of End
}

const (
	nonceHolds = time.Minute // for which Discord takes a message twice as one, on the safe side
	maxBroken  = 10          // attempts at one step that were broken off
	looks      = 5           // how often it is looked for again, for each class of failures
	lookPause  = time.Second // before the first time, twice as long before each further one
)

// Next says what is done next, at a time in ms since 1970. What has come of it is told to the Progress before Next is asked again.
func Next(d *Delivery, p *Progress, now int64) Step {
	s := Step{Do: PostOne, Index: len(p.MessageIDs), Since: cmp.Or(p.since, now)}
	find, deed := FindOne, collaborate.PostMessage
	switch {
	case d.Open != nil && !p.Opened:
		s.Do, find, deed = OpenThread, FindThread, collaborate.OpenThread
	case s.Index >= len(d.Messages):
		return Step{Do: End, Outcome: p.outcome(d, Done)}
	}
	n := p.follows(d, deed)
	if p.look.last == "" && n.Wait > 0 && !p.waited {
		return Step{Do: Wait, Wait: n.Wait}
	}
	if p.looks(&n, deed, now) {
		switch wait, again := p.look.again(); {
		case again && wait > 0 && !p.waited:
			return Step{Do: Wait, Wait: wait}
		case again:
			s.Do = find
			return s
		case p.look.last == collaborate.ClassNotFound:
			n = p.look.follows(d, collaborate.PostMessage) // the place is no more, and with it whatever stood there
		case !p.insisted:
			return Step{Do: End, Outcome: p.given(d, Unknown, collaborate.Blind())}
		}
	}
	switch {
	case n.Retry:
		return s
	case n.Anew:
		return Step{Do: End, Outcome: p.given(d, Anew, n)}
	}
	return Step{Do: End, Outcome: p.given(d, Failed, n)}
}

// follows is what follows from how the step has failed last.
func (p *Progress) follows(d *Delivery, deed collaborate.Deed) collaborate.Next {
	switch {
	case p.broken > maxBroken:
		return collaborate.Next{Look: true, Code: collaborate.CodeUnavailable, Escalate: true}
	case p.deed.last == "":
		return collaborate.Next{Retry: true}
	}
	return p.deed.follows(d, deed)
}

func (t *tries) follows(d *Delivery, deed collaborate.Deed) collaborate.Next {
	if t.last == ClassNoBot {
		return collaborate.Next{Code: collaborate.CodeAccount, Escalate: true}
	}
	f := failureOf(t.last)
	f.RetryAfter = t.retryAfter
	return collaborate.After(collaborate.Attempt{Deed: deed, Route: d.Route, Failure: f, Failures: t.failures[t.last]})
}

// again says whether it is looked for, once more, and how long to wait before. To look does no harm: it is tried for longer than anything else.
func (t *tries) again() (wait time.Duration, again bool) {
	switch n := t.failures[t.last]; t.last {
	case "":
		return 0, true
	case collaborate.ClassRateLimited:
		return max(t.retryAfter, lookPause), n <= looks
	case collaborate.ClassUnavailable, collaborate.ClassUnsent, collaborate.ClassTimeout, collaborate.ClassLost:
		return lookPause << (n - 1), n <= looks
	}
	return 0, false
}

// looks says whether it is looked for first. Whatever may have been done is, unless Discord takes it as the same message.
func (p *Progress) looks(n *collaborate.Next, deed collaborate.Deed, now int64) bool {
	if p.looked || !p.unsure {
		return false
	}
	return n.Look || !n.Retry || p.deed.last == "" || deed == collaborate.OpenThread || now-p.unsureAt > nonceHolds.Milliseconds()
}

func (p *Progress) outcome(d *Delivery, s State) Outcome {
	return Outcome{State: s, ThreadID: cmp.Or(p.ThreadID, d.ThreadID), ThreadName: p.ThreadName, MessageIDs: p.MessageIDs, SentAt: p.SentAt}
}

// given is the outcome of what is given up.
func (p *Progress) given(d *Delivery, s State, n collaborate.Next) Outcome {
	o := p.outcome(d, s)
	o.Code, o.Escalate, o.Forget = n.Code, n.Escalate, n.Forget
	if s == Anew {
		o.Code = collaborate.CodeNotFound
	}
	o.Mend = cmp.Or(p.Mend, Mend(o.Code))
	o.Text = cmp.Or(p.Text, "an attempt was broken off")
	what, format := "the thread", "%s was not %s: %s"
	done := "opened"
	if d.Open == nil || p.Opened {
		what, done = fmt.Sprintf("message %d of %d", len(p.MessageIDs)+1, len(d.Messages)), "posted"
	}
	if s == Unknown {
		format, o.Mend = "nobody knows whether %s was %s: %s", Mend(o.Code)
	}
	o.Text = fmt.Sprintf(format, what, done, o.Text)
	return o
}

// Mend is what helps with a code of what was given up, where nobody has said anything better.
func Mend(code string) string {
	switch code {
	case collaborate.CodeDenied:
		return "give the bot's role the permission to write there, then have it sent again"
	case collaborate.CodeNotFound:
		return "see that the channel or thread is still there"
	case collaborate.CodeUnauthorized:
		return "set the bot's token in channels.discord.accounts"
	case collaborate.CodeAccount:
		return "add the account to channels.discord.accounts, then have it sent again"
	case collaborate.CodeUnknown:
		return "look in Discord whether it stands there; if it does not, openclawd work resend EFFECT has it posted"
	case collaborate.CodeRejected:
		return "Discord does not take it as it is: ask for it in another way"
	case collaborate.CodeRateLimited:
		return "wait, then have it sent again"
	case collaborate.CodeUnavailable, collaborate.CodeTimeout:
		return "see https://discordstatus.com, then have it sent again"
	}
	return ""
}

// failureOf is a failure of a class.
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

// unsure says whether something may have been done though it failed so.
func unsure(c collaborate.Class) bool {
	for _, r := range collaborate.Rules() {
		if r.Class == c {
			return r.Unsure
		}
	}
	return false
}
