// Package permission decides about single calls of tools that wait for a person: each is approved or rejected once, expires if
// no one decides in time, or ends with its run. It is pure: ids and times are passed in.
//
//	pending  -> approved | rejected | expired | cancelled    final
//	approved -> revoked, if it outlasts the call
//
// What is permitted is a call of an agent with its tool and arguments. No id that a model or a client chooses is part of it.
package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Prefix begins the ids of approvals of calls, and of nothing else that people decide.
const Prefix = "call_"

// InputPrefix begins the ids of those that are about input that a call wants. What follows it in other ids is hexadecimal.
const InputPrefix = Prefix + "q"

// IsInput reports whether an id is that of a request for input.
func IsInput(id string) bool { return strings.HasPrefix(id, InputPrefix) }

// Statuses of an Approval.
const (
	Pending   = "pending"
	Approved  = "approved"
	Rejected  = "rejected"
	Expired   = "expired"
	Cancelled = "cancelled" // its run has ended
)

// Scopes of permissions that outlast their call, for the agent.
const (
	ThisCall = "call" // every call of the tool with these arguments
	AnyCall  = "tool" // every call of the tool
)

// Limits.
const (
	MaxArguments = 64 << 10 // bytes of what waits; all of them are stored, so that people see what they decide about
	MaxReason    = 8 << 10  // bytes
	MaxPending   = 200      // calls of one agent that wait
)

// Approval is the state of a decision about a call. Apply folds it.
type Approval struct {
	ID      string
	Seq     int64 // of its first event, as in lists
	Last    int64 // of the last event that changed it
	Version int64 // the stream's, with that event

	Agent, Tool, Server string // Agent in lower case
	CallHash            string
	SessionKey          string
	RunID, FirstRunID   string // "" if a client asks
	TaskID              string
	WorkSessionID       string

	Status                string // "" if there is none
	Scope                 string // "": only the call that was asked for
	RequestedAt, ExpireAt int64  // ms since 1970
	DecidedAt, RevokedAt  int64  // likewise; 0 if not
	DecidedBy, Reason     string
}

// StatusAt is the status at a time: one that is due to expire has expired, although no event says so yet.
func (a *Approval) StatusAt(now int64) string {
	if a.Status == Pending && now >= a.ExpireAt {
		return Expired
	}
	return a.Status
}

// Lasts reports whether the permission outlasts its call and was not taken back.
func (a *Approval) Lasts() bool { return a.Status == Approved && a.Scope != "" && a.RevokedAt == 0 }

// CallHash identifies what is called: agent, tool and arguments, which are canonical.
func CallHash(agent, tool string, args json.RawMessage) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d\n", strings.ToLower(agent), tool, len(args))
	h.Write(args)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Line is a call in a line: the tool with all arguments; or, as command, the one command that exec gets and nothing else. Of other calls,
// whose arguments people do not see in a command, no member stands for all.
func Line(tool string, args json.RawMessage) (text string, command bool) {
	var given map[string]json.RawMessage
	if tool == shell && json.Unmarshal(args, &given) == nil && len(given) == 1 && json.Unmarshal(given["command"], &text) == nil && strings.TrimSpace(text) != "" {
		return text, true
	}
	return strings.TrimSpace(tool + " " + string(args)), false
}

// shell is the tool that executes commands.
const shell = "exec"

// Apply folds an event of the approval's stream and reports whether it changed the approval. Redacted data (nil) has the effect of the
// type alone: a redacted request permits nothing, and a redacted decision is a refusal.
func (a *Approval) Apply(typ, agent string, data []byte, seq, version, ts int64) (bool, error) {
	var err error
	changed := false
	switch typ {
	case coordination.TypeToolApprovalRequested:
		changed, err = a.request(agent, data, seq, ts)
	case coordination.TypeToolApprovalDecided:
		changed, err = a.decide(data, ts)
	case coordination.TypeToolApprovalRevoked:
		if changed = a.Lasts(); changed {
			a.RevokedAt = ts
		}
	}
	if changed {
		a.Last, a.Version = seq, version
	}
	return changed, err
}

func (a *Approval) request(agent string, data []byte, seq, ts int64) (bool, error) {
	if a.Status != "" {
		return false, nil
	}
	var d coordination.CallApprovalRequested
	if len(data) > 0 {
		if err := json.Unmarshal(data, &d); err != nil {
			return false, fmt.Errorf("fold the request of approval %s: %w", a.ID, err)
		}
	}
	*a = Approval{ID: a.ID, Seq: seq, Agent: strings.ToLower(agent), Tool: d.Tool, Server: d.Server, CallHash: d.CallHash, SessionKey: d.SessionKey, RunID: d.RunID,
		FirstRunID: d.FirstRunID, TaskID: d.TaskID, WorkSessionID: d.WorkSessionID, Status: Pending, RequestedAt: ts, ExpireAt: d.ExpiresAt}
	if d.ApprovalID != "" {
		a.ID = d.ApprovalID
	}
	return true, nil
}

func (a *Approval) decide(data []byte, ts int64) (bool, error) {
	if a.Status != Pending {
		return false, nil
	}
	d := coordination.CallApprovalDecided{Decision: Rejected}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &d); err != nil {
			return false, fmt.Errorf("fold the decision about approval %s: %w", a.ID, err)
		}
	}
	switch d.Decision {
	case Approved:
		a.Scope = d.Scope
	case Rejected, Expired, Cancelled:
	default:
		return false, nil
	}
	a.Status, a.DecidedAt, a.DecidedBy, a.Reason = d.Decision, max(ts, a.RequestedAt), d.DecidedBy, d.Reason
	return true, nil
}
