package collaborate

import "github.com/pronto-lab/openclawd/coordination"

// Refusal says why a request is not posted. Nothing has happened then.
type Refusal struct {
	Reason   string // a code: one of those below
	Field    string // of the request; ""
	Value    string // that stands there
	Text     string // what is wrong, with the value
	HintText string

	// Of CodePairLimit: the two agents, and when they may ask each other again, ms since 1970.
	From, Target string
	ResetAt      int64
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Code() string  { return r.Reason }
func (r *Refusal) Hint() string  { return r.HintText }

// Refused is the event of every code except CodeInvalid and CodeConflict, which concern only the request's fields.
// from is the agent who asks, target the named one.
func (r *Refusal) Refused(c coordination.Context, requestID, from, target string) Event {
	return Event{coordination.TypeA2ACollaborateFailed, from, Failed{Context: within(c), RequestID: requestID, FromAgent: from,
		TargetAgent: coordination.Head(coordination.Mask(target), MaxID), Code: r.Reason, Text: coordination.Head(coordination.Mask(r.Text), MaxOriginal)}}
}

// Limited is the event of CodePairLimit.
func (r *Refusal) Limited(c coordination.Context) Event {
	return Event{coordination.TypeCollabRateLimited, r.From, Limited{within(c), r.From, r.Target, r.ResetAt}}
}

// Codes of refusals.
const (
	CodeInvalid   = "invalid_request"
	CodeSelf      = "self_target"
	CodeForbidden = "forbidden"            // by the policy between agents
	CodeMapping   = "mapping_not_found"    // an agent has no bot in Discord
	CodeAccount   = "unknown_account"      // no such account is connected, or it is the target's own
	CodeChannel   = "channel_not_allowed"  // by the policy of channels and guilds
	CodeNoChannel = "no_channel"           // no channel given or configured
	CodeNotFound  = "not_found"            // no such channel or thread
	CodeLocked    = "thread_locked"        // the thread is locked
	CodeConflict  = "idempotency_conflict" // another request has this key
	CodeHops      = "hop_limit"            // passed on between agents too often
	CodePairLimit = "pair_rate_limited"
)
