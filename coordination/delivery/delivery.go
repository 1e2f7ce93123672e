// Package delivery says what has to be posted in Discord, how far it has come, and what is done next. It is pure: what was posted is told by
// events, clock and answers are passed in.
//
// A delivery is work: it is asked for by work.scheduled of Kind, whose payload it is, and what becomes of it lies in the stream of that work.
// First its thread is opened, if it has one to open, then its messages are posted, in order. Each step that was done is an event before the next
// one is begun; a step that may have been done is looked for before it is done again, and what nobody can know is never done again.
package delivery

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Kind is the kind of work that a delivery is.
const Kind = "discord"

// Pool is its pool.
const Pool = "discord"

// ReplyEffect is the effect of posting what a run has said in its end, or, where it has failed, a notice that says so.
func ReplyEffect(runID string) string { return "reply/" + runID }

// Purposes of deliveries.
const (
	Reply    = "reply"    // what an agent says in the end of a run
	Announce = "announce" // what came of a flow between agents
	Request  = "request"  // what one agent asks another one, by collaborate
	Reminder = "reminder" // of a request that nobody has answered
	Escalate = "escalate" // a person is told
	Report   = "report"   // of a sink
	Approval = "approval" // a person is asked to agree
	Notice   = "notice"   // openclawd says something itself, e.g. that a run has failed
	Send     = "send"     // what a client of the gateway has posted
)

// Delivery is what has to be posted.
type Delivery struct {
	Context   coordination.Context `json:"context,omitzero"` // of the events that tell of it
	Purpose   string               `json:"purpose"`
	AgentID   string               `json:"agentId,omitempty"` // in whose name
	AccountID string               `json:"accountId"`         // whose bot
	GuildID   string               `json:"guildId,omitempty"`
	ChannelID string               `json:"channelId"`          // where it is posted, or the channel of the thread
	ThreadID  string               `json:"threadId,omitempty"` // that it is posted in; "" if it is opened, or there is none
	Open      *Opening             `json:"open,omitempty"`     // the thread that is opened first; nil for none

	Messages   []string        `json:"messages"` // each fits into one of Discord
	Notify     []string        `json:"notify,omitempty"`
	ReplyTo    string          `json:"replyTo,omitempty"`    // of the first message
	Components json.RawMessage `json:"components,omitempty"` // buttons of the last message: an array, as Discord has it
	System     bool            `json:"system,omitempty"`     // openclawd says it: it answers nothing, and calls only whom it mentions

	Route collaborate.Route `json:"route,omitempty"` // of a request: how its thread was chosen
	Seed  string            `json:"seed,omitempty"`  // what its nonces follow from, where another delivery may have posted the same before; "": the effect

	// What it is about; "" if it is about none.
	CollabID   string `json:"collabId,omitempty"`
	RunID      string `json:"runId,omitempty"`
	ReportOf   string `json:"reportOf,omitempty"` // the conversation between agents that a report thread is about
	ApprovalID string `json:"approvalId,omitempty"`

	// Detail is for whoever has asked for it, and for nobody else: an object.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// Opening is a thread that is opened.
type Opening struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`              // collab, report
	Starter   bool   `json:"starter,omitempty"` // the channel is a forum: it is opened with the first message
	ReuseKey  string `json:"reuseKey,omitempty"`
	FromAgent string `json:"fromAgent,omitempty"`
	ToAgent   string `json:"toAgent,omitempty"`
}

// State is how a delivery has ended.
type State string

const (
	Done    State = "done"             // all of it stands there
	Failed  State = "failed"           // it does not, at least not whole
	Unknown State = "delivery_unknown" // nobody knows
	Anew    State = "anew"             // its thread, one from before, is no more: it is to be decided about again
)

// Outcome is what has become of a delivery.
type Outcome struct {
	State      State
	ThreadID   string // that was opened, or was there
	ThreadName string
	MessageIDs []string // that stand there, in order
	SentAt     int64    // of the first, as Discord says, ms since 1970
	Code       string   // of Failed and Unknown: a code of coordination/collaborate
	Text       string   // likewise: what is so
	Mend       string   // likewise
	Escalate   bool     // a person is to be told
	Forget     bool     // the thread is not to be used again
}

// Work is the work that a delivery is, in the order of its place: what is scheduled for one thread, or channel, goes out in order. dueAt is ms
// since 1970, 0 for at once. The effect's id makes it one, and is what its nonces follow from. What looks like a secret in a message is masked. The
// error is a *Refusal.
func (d *Delivery) Work(effectID string, dueAt int64) (coordination.WorkScheduled, error) {
	if effectID == "" {
		return coordination.WorkScheduled{}, &Refusal{Field: "effectId", Mend: "name the delivery: it is posted once for each name"}
	}
	masked := *d
	masked.Messages = make([]string, len(d.Messages))
	for i, m := range d.Messages {
		masked.Messages[i] = coordination.Mask(m)
	}
	if err := masked.check(); err != nil {
		return coordination.WorkScheduled{}, err
	}
	payload, err := json.Marshal(&masked)
	if err != nil {
		return coordination.WorkScheduled{}, fmt.Errorf("write delivery %s: %w", effectID, err)
	}
	if len(payload) > maxPayload {
		return coordination.WorkScheduled{}, &Refusal{Field: "messages", Value: strconv.Itoa(len(payload)) + " bytes", Mend: "post less at once: 1 MiB in all"}
	}
	c := d.Context
	c.EventRole = coordination.RoleObservability
	return coordination.WorkScheduled{Context: c, EffectID: effectID, Kind: Kind, Key: d.key(effectID), Pool: Pool, Owner: d.AgentID, DueAtMs: dueAt,
		Payload: payload}, nil
}

// key is what orders deliveries: their place, or the thread that they open.
func (d *Delivery) key(effectID string) string {
	if d.Open != nil {
		return "discord/open/" + d.ChannelID + "/" + cmp.Or(d.Open.ReuseKey, effectID)
	}
	return "discord/" + cmp.Or(d.ThreadID, d.ChannelID)
}

// Beginnings of nonces. response.SystemNonce knows the first one.
const (
	systemNonce = "sys"
	plainNonce  = "d"
	nonceLength = 25
)

// Nonce is what Discord knows the i-th message by, in the place where it is posted: the same one whenever it is tried. Those of System are known to
// coordination/response.SystemNonce. 25 characters.
func (d *Delivery) Nonce(effectID, place string, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", cmp.Or(d.Seed, effectID), place, i))
	nonce := plainNonce
	if d.System {
		nonce = systemNonce
	}
	return (nonce + hex.EncodeToString(sum[:]))[:nonceLength]
}

// Place is where the messages are posted: the thread, else the channel. opened is the thread that was opened, if there is one to open.
func (d *Delivery) Place(opened string) string { return cmp.Or(opened, d.ThreadID, d.ChannelID) }
