package response

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Kind is the kind of an action.
type Kind string

const (
	Nothing  Kind = "nothing"
	Remind   Kind = "remind"   // remind the target, in the thread
	Escalate Kind = "escalate" // notify a person
)

// Action is the next action for a request.
type Action struct {
	Kind      Kind
	RequestID string
	ThreadID  string
	AccountID string // of the bot to post with: the requesting agent's
	Step, Of  int    // number of the reminder or escalation
	Minutes   int    // without an answer, rounded down
	Quiet     bool   // an escalation to record without posting

	// Nonce is the same each time the action is due, so that a message posted before a crash is not posted again. SystemNonce recognises
	// it.
	Nonce string

	// LookAgainAt is of Nothing: the next time something is due, ms since 1970; 0 for never.
	LookAgainAt int64
}

// Next returns the action for a request at a time, ms since 1970. Its result must be folded before Next is called again.
func (r *Request) Next(p Policy, now int64) Action {
	steps, after := max(p.Steps, 1), max(p.After.Milliseconds(), 1)
	switch {
	case !p.Enabled || !r.Status.Open() || r.Status == StatusEscalated && (r.Told || r.Tries >= MaxEscalate):
		return r.nothing(0)
	case r.Status == StatusEscalated:
		if at := r.LastAttemptAt + EscalateWait.Milliseconds(); now < at {
			return r.nothing(at)
		}
		return r.action(Escalate, max(r.Step, steps), steps, p, now)
	}
	switch due := int(min(max(now-r.SentAt, 0)/after, int64(steps))); {
	case due == steps:
		return r.action(Escalate, steps, steps, p, now)
	case due > r.Step:
		return r.action(Remind, due, steps, p, now)
	}
	return r.nothing(r.SentAt + int64(min(r.Step+1, steps))*after)
}

// Schedule is when a request is followed up next and last, ms since 1970, and how many steps there are, the escalation included; zeros for
// a request that is not followed up, or no more.
func (r *Request) Schedule(p Policy) (next, last int64, steps int) {
	if !p.Enabled || r.Status != StatusPending || r.SentAt == 0 {
		return 0, 0, 0
	}
	steps = max(p.Steps, 1)
	after := max(p.After.Milliseconds(), 1)
	return r.SentAt + int64(min(r.Step+1, steps))*after, r.SentAt + int64(steps)*after, steps
}

func (r *Request) nothing(at int64) Action {
	return Action{Kind: Nothing, RequestID: r.ID, ThreadID: r.ThreadID, LookAgainAt: at}
}

func (r *Request) action(kind Kind, step, of int, p Policy, now int64) Action {
	return Action{Kind: kind, RequestID: r.ID, ThreadID: r.ThreadID, AccountID: r.FromAccount, Step: step, Of: of,
		Minutes: int(time.Duration(now-r.SentAt) * time.Millisecond / time.Minute), Quiet: kind == Escalate && !p.Notify, Nonce: r.nonce(kind, step)}
}

// Next returns the actions for all requests, in sending order, and when to check again without new events; 0 for never.
func (s *State) Next(p Policy, now int64) (list []Action, lookAgainAt int64) {
	for i := range s.Requests {
		a := s.Requests[i].Next(p, now)
		if a.Kind != Nothing {
			list = append(list, a)
		} else if a.LookAgainAt > 0 && (lookAgainAt == 0 || a.LookAgainAt < lookAgainAt) {
			lookAgainAt = a.LookAgainAt
		}
	}
	return list, lookAgainAt
}

// systemNonce begins the nonce of openclawd's own messages. The rest is hexadecimal, 25 characters in all, Discord's limit.
const systemNonce = "sys"

func (r *Request) nonce(kind Kind, step int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s %d", r.ID, kind, step))
	return systemNonce + hex.EncodeToString(sum[:11])
}

// SystemNonce reports whether a nonce belongs to a reminder or an escalation.
func SystemNonce(nonce string) bool {
	rest, ok := strings.CutPrefix(nonce, systemNonce)
	return ok && len(rest) == 22 && strings.Trim(rest, "0123456789abcdef") == ""
}
