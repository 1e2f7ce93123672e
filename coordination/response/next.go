package response

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Kind is what is done about a request.
type Kind string

const (
	Nothing  Kind = "nothing"
	Remind   Kind = "remind"   // the target is reminded, in the thread
	Escalate Kind = "escalate" // a person is told
)

// Action is the one thing to do about a request now.
type Action struct {
	Kind      Kind
	RequestID string
	ThreadID  string
	AccountID string // whose bot says it: that of the agent who has asked
	Step, Of  int    // of the reminder, or the escalation
	Minutes   int    // without an answer, in full ones
	Quiet     bool   // of an escalation that is recorded and not posted

	// Nonce is the same one whenever this is to be done, so that what was posted before a crash is not posted again. SystemNonce knows it.
	Nonce string

	// LookAgainAt is of Nothing: when time alone makes something due, ms since 1970; 0 never.
	LookAgainAt int64
}

// Next says what is to be done about a request at a time, ms since 1970. What is done is folded before Next is asked again.
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

func (r *Request) nothing(at int64) Action {
	return Action{Kind: Nothing, RequestID: r.ID, ThreadID: r.ThreadID, LookAgainAt: at}
}

func (r *Request) action(kind Kind, step, of int, p Policy, now int64) Action {
	return Action{Kind: kind, RequestID: r.ID, ThreadID: r.ThreadID, AccountID: r.FromAccount, Step: step, Of: of,
		Minutes: int(time.Duration(now-r.SentAt) * time.Millisecond / time.Minute), Quiet: kind == Escalate && !p.Notify, Nonce: r.nonce(kind, step)}
}

// Next is what is to be done about all requests, in the order in which they were sent, and when to look again if nothing happens before; 0 never.
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

// systemNonce begins the nonce of what the system says itself. The rest is hexadecimal, 25 characters in all, as many as Discord takes.
const systemNonce = "sys"

func (r *Request) nonce(kind Kind, step int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s %d", r.ID, kind, step))
	return systemNonce + hex.EncodeToString(sum[:11])
}

// SystemNonce says whether a message with this nonce is a reminder or an escalation.
func SystemNonce(nonce string) bool {
	rest, ok := strings.CutPrefix(nonce, systemNonce)
	return ok && len(rest) == 22 && strings.Trim(rest, "0123456789abcdef") == ""
}
