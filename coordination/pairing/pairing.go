// Package pairing decides who may write direct messages to the agents of a channel whose dmPolicy is pairing: an unknown person is given
// a code, and an operator to whom the person tells it approves the person. It is pure: time, randomness and what the log says are passed
// in.
//
// A person is the user id in the service. A code names a pending request, is valid for an hour, and approves one person; it is no secret
// that opens anything by itself, since only operators may approve.
package pairing

import (
	"crypto/subtle"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Limits, as in OpenClaw.
const (
	CodeLength = 8
	Alphabet   = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789" // without 0, O, 1 and I
	TTL        = time.Hour
	MaxPending = 3  // requests of one channel
	MaxRefused = 10 // wrong codes of one channel within TTL, all operators together
)

// State is what the log says of a person.
type State string

// States of a person. The zero State is that of a stranger.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Revoked  State = "revoked"
)

// Person is a person in a channel, by user id.
type Person struct {
	Channel   string `json:"channel"`
	UserID    string `json:"userId"`
	UserName  string `json:"userName,omitempty"`
	State     State  `json:"state"`
	Code      string `json:"code,omitempty"` // of Pending
	AccountID string `json:"accountId,omitempty"`
	AgentID   string `json:"agentId,omitempty"`
	ChannelID string `json:"channelId,omitempty"` // the conversation
	SinceMs   int64  `json:"sinceMs"`             // of the state, ms since 1970
	UntilMs   int64  `json:"untilMs,omitempty"`   // of Pending
	By        string `json:"by,omitempty"`        // of Approved and Revoked
}

// Waits reports whether the person's request is pending at a time, ms since 1970.
func (p *Person) Waits(at int64) bool { return p.State == Pending && at < p.UntilMs }

// Apply folds an event of the person's stream and reports whether it changed something. Redacted data (nil) still says what was decided.
func (p *Person) Apply(typ string, d *coordination.Pairing, at int64) bool {
	switch typ {
	case coordination.TypePairingRequested:
		if d == nil || d.Code == "" || p.State == Approved {
			return false
		}
		*p = Person{Channel: p.Channel, UserID: p.UserID, UserName: d.UserName, State: Pending, Code: d.Code, AccountID: d.AccountID, AgentID: d.AgentID,
			ChannelID: d.ChannelID, SinceMs: at, UntilMs: d.UntilMs}
	case coordination.TypePairingApproved, coordination.TypePairingRevoked:
		p.State, p.Code, p.UntilMs, p.SinceMs, p.By = Approved, "", 0, at, ""
		if typ == coordination.TypePairingRevoked {
			p.State = Revoked
		}
		if d != nil {
			p.By = d.By
		}
	default:
		return false
	}
	return true
}

// Situation is what the log says of a channel at a time.
type Situation struct {
	Channel string
	Waiting []Person // whose requests are pending
	Refused int      // wrong codes within TTL
	Now     int64    // ms since 1970
}

// Ask returns the request of an unknown person, nil if no code is given: the person has one, or too many wait. The error is that of
// random.
func (s *Situation) Ask(p *Person, messageID string, random io.Reader) (*coordination.Pairing, error) {
	waits := func(other Person) bool { return other.UserID == p.UserID }
	if len(s.Waiting) >= MaxPending || slices.ContainsFunc(s.Waiting, waits) {
		return nil, nil
	}
	code, err := s.newCode(random)
	if err != nil {
		return nil, err
	}
	return &coordination.Pairing{Context: ours(), Channel: s.Channel, UserID: p.UserID, UserName: p.UserName, AccountID: p.AccountID, AgentID: p.AgentID,
		ChannelID: p.ChannelID, MessageID: messageID, Code: code, UntilMs: s.Now + TTL.Milliseconds()}, nil
}

// newCode draws a code that no pending request has.
func (s *Situation) newCode(random io.Reader) (string, error) {
	for range 100 {
		var drawn [CodeLength]byte
		if _, err := io.ReadFull(random, drawn[:]); err != nil {
			return "", fmt.Errorf("draw a pairing code: %w", err)
		}
		for i, b := range drawn {
			drawn[i] = Alphabet[int(b)%len(Alphabet)] // 256 is a multiple of its length: all are equally likely
		}
		if code := string(drawn[:]); s.find(code) == nil {
			return code, nil
		}
	}
	return "", fmt.Errorf("draw a pairing code: every one drawn is in use")
}

// find returns the pending request with a code. Each is compared in constant time.
func (s *Situation) find(code string) (found *Person) {
	for i := range s.Waiting {
		if subtle.ConstantTimeCompare([]byte(s.Waiting[i].Code), []byte(code)) == 1 {
			found = &s.Waiting[i]
		}
	}
	return found
}

// Codes of refusals.
const (
	CodeUnknownCode = "unknown_pairing_code"
	CodeTooMany     = "too_many_pairing_codes"
	CodeUnknown     = "unknown_person"
	CodeInvalid     = "invalid_pairing"
)

// Refusal says why nothing was decided.
type Refusal = coordination.Refusal[Details]

// Details are what only refusals of this package say.
type Details struct {
	Counts bool // the attempt is recorded
}

// Approve returns the person that a code names, and the event that approves the person. Letters of either case are accepted. The error is
// a *Refusal.
func (s *Situation) Approve(code, by string) (*Person, *coordination.Pairing, error) {
	if s.Refused >= MaxRefused {
		return nil, nil, &Refusal{Reason: CodeTooMany, Field: "code", Text: "too many wrong codes were given for " + s.Channel,
			HintText: "wait an hour; openclawd pairing list " + s.Channel + " shows the codes"}
	}
	given := strings.ToUpper(coordination.TrimJS(code))
	p := s.find(given)
	if p == nil {
		return nil, nil, &Refusal{Reason: CodeUnknownCode, Field: "code", Value: shown(code), Text: "no pending request of " + s.Channel + " has the code " + strconv.Quote(shown(code)),
			HintText: "codes are valid for an hour; openclawd pairing list " + s.Channel + " shows them", Details: Details{Counts: true}}
	}
	return p, &coordination.Pairing{Context: ours(), Channel: s.Channel, UserID: p.UserID, UserName: p.UserName, By: by}, nil
}

// Wrong is the event that records a wrong code. It does not contain the code.
func (s *Situation) Wrong(by string) *coordination.Pairing {
	return &coordination.Pairing{Context: ours(), Channel: s.Channel, By: by}
}

// Revoke returns the event that takes back a person's permission, or request. The error is a *Refusal.
func (s *Situation) Revoke(p *Person, by string) (*coordination.Pairing, error) {
	if p.State != Approved && !p.Waits(s.Now) {
		return nil, &Refusal{Reason: CodeUnknown, Field: "userId", Value: shown(p.UserID), Text: strconv.Quote(shown(p.UserID)) + " is not paired in " + s.Channel,
			HintText: "openclawd pairing list " + s.Channel + " shows who is; people of allowFrom are removed there"}
	}
	return &coordination.Pairing{Context: ours(), Channel: s.Channel, UserID: p.UserID, UserName: p.UserName, By: by}, nil
}

func ours() coordination.Context {
	return coordination.Context{EventRole: coordination.RoleObservability}
}

const maxShown = 40 // characters

func shown(text string) string {
	return coordination.Head(strings.ToValidUTF8(text, "\uFFFD"), maxShown)
}
