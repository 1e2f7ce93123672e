// Package delivery defines a post to a channel, how far it has come, and its next step. It is pure: progress is folded from events; the
// time and the service's answers are passed in.
//
// A delivery is the payload of a work.scheduled event of Kind, and its progress lies in that work's stream. Its thread, if any, is
// opened first, then its messages are posted in order. Every completed step is an event before the next one starts. A step that may have
// been carried out is searched for there before it is repeated; one that cannot be confirmed either way is not repeated.
package delivery

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Kind and Pool are the work kind and pool of deliveries to Discord. Those to another channel have its name as both, so that an outage of
// one channel does not hold the posts to another.
const (
	Kind = coordination.Discord
	Pool = coordination.Discord
)

// ReplyEffect is the effect id of posting a run's final answer, or a notice of its failure.
func ReplyEffect(runID string) string { return "reply/" + runID }

const (
	Reply    = "reply"    // the final answer of a run
	Announce = "announce" // the result of a flow between agents
	Request  = "request"  // a collaborate request to another agent
	Reminder = "reminder" // about an unanswered request
	Escalate = "escalate" // to a person
	Report   = "report"   // from a sink
	Approval = "approval" // asks a person for approval
	Notice   = "notice"   // from openclawd itself, e.g. about a failed run
	Send     = "send"     // from a gateway client
)

// Delivery is a post to a channel.
type Delivery struct {
	Context   coordination.Context `json:"context,omitzero"`  // of its events
	Channel   string               `json:"channel,omitempty"` // "": Discord
	Purpose   string               `json:"purpose"`
	AgentID   string               `json:"agentId,omitempty"` // the agent that speaks
	AccountID string               `json:"accountId"`         // the account of the bot that posts
	GuildID   string               `json:"guildId,omitempty"`
	ChannelID string               `json:"channelId"`          // the target, or the parent of the thread
	ThreadID  string               `json:"threadId,omitempty"` // the existing thread to post in; "" for none, or with Open
	Open      *Opening             `json:"open,omitempty"`     // a thread to open first; nil for none

	Messages   []string        `json:"messages"`        // each within the channel's limit
	Files      []File          `json:"files,omitempty"` // posted after the messages, each in a message of its own without text
	Notify     []string        `json:"notify,omitempty"`
	ReplyTo    string          `json:"replyTo,omitempty"`    // set on the first message
	Components json.RawMessage `json:"components,omitempty"` // buttons of the last message: a JSON array in the channel's form
	System     bool            `json:"system,omitempty"`     // posted by openclawd itself: answers no request, calls only mentioned agents

	Route collaborate.Route `json:"route,omitempty"` // of a Request: how its thread was chosen
	Seed  string            `json:"seed,omitempty"`  // base of the nonces, shared with an earlier delivery of the same messages; "" for the effect id

	// The subject; "" where it does not apply.
	CollabID   string `json:"collabId,omitempty"`
	RunID      string `json:"runId,omitempty"`
	ReportOf   string `json:"reportOf,omitempty"` // the conversation that a report thread is about
	ApprovalID string `json:"approvalId,omitempty"`

	// Detail is a JSON object for the requester of the delivery; nothing else reads it.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// File is a file to post. It lies beside the log.
type File struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Posts is how many messages the delivery posts: its texts, and then its files.
func (d *Delivery) Posts() int { return len(d.Messages) + len(d.Files) }

// Post is the i-th message: a text, or a file.
func (d *Delivery) Post(i int) (text string, f *File) {
	if i < len(d.Messages) {
		return d.Messages[i], nil
	}
	return "", &d.Files[i-len(d.Messages)]
}

// Said is what the delivery posts as one text for a transcript: its texts, and the names of its files.
func (d *Delivery) Said() string {
	said := slices.Clone(d.Messages)
	var names []string
	for i := range d.Files {
		names = append(names, d.Files[i].Name)
	}
	if len(names) > 0 {
		said = append(said, strings.Join(names, ", "))
	}
	return strings.Join(said, "\n")
}

// Opening is a thread to open.
type Opening struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`              // collab, report
	Starter   bool   `json:"starter,omitempty"` // the channel is a forum: the first message opens the thread
	ReuseKey  string `json:"reuseKey,omitempty"`
	FromAgent string `json:"fromAgent,omitempty"`
	ToAgent   string `json:"toAgent,omitempty"`
}

// State is how a delivery ended.
type State string

const (
	Done    State = "done"             // completely posted
	Failed  State = "failed"           // not posted, or only in part
	Unknown State = "delivery_unknown" // cannot be determined
	Reroute State = "anew"             // its existing thread is gone: choose a place again
)

// Outcome is the result of a delivery.
type Outcome struct {
	State      State
	ThreadID   string // opened or given
	ThreadName string
	MessageIDs []string // posted, in order
	SentAt     int64    // when the first was sent, ms since 1970; in Discord according to its id
	Code       string   // of Failed and Unknown: a code of package collaborate
	Text       string   // likewise: what happened
	Hint       string   // likewise
	Escalate   bool     // notify a person
	Forget     bool     // do not reuse the thread
}

// Work returns the delivery as work, with secrets masked. Deliveries to one thread or channel go out in the order in which they are
// scheduled. effectID identifies the work and seeds the nonces. dueAt is ms since 1970; 0 is at once. The error is a *Refusal.
func (d *Delivery) Work(effectID string, dueAt int64) (coordination.WorkScheduled, error) {
	if effectID == "" {
		return coordination.WorkScheduled{}, &Refusal{Field: "effectId", HintText: "give the delivery an id: it is posted once per id"}
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
		return coordination.WorkScheduled{}, &Refusal{Field: "messages", Value: strconv.Itoa(len(payload)) + " bytes", HintText: "post less at once: at most 1 MiB in all"}
	}
	c := d.Context
	c.EventRole = coordination.RoleObservability
	return coordination.WorkScheduled{Context: c, EffectID: effectID, Kind: d.traits().Name, Key: d.key(effectID), Pool: d.traits().Name, Owner: d.AgentID, DueAtMs: dueAt,
		Payload: payload}, nil
}

// key orders deliveries: those with the same place, or the same thread to open, go out one by one.
func (d *Delivery) key(effectID string) string {
	channel := d.traits().Name
	if d.Open != nil {
		return channel + "/open/" + d.ChannelID + "/" + cmp.Or(d.Open.ReuseKey, effectID)
	}
	return channel + "/" + cmp.Or(d.ThreadID, d.ChannelID)
}

// traits are those of the channel; of an unknown one, which check refuses, they are zero.
func (d *Delivery) traits() coordination.Channel {
	c, _ := coordination.ChannelNamed(d.Channel)
	return c
}

// Nonce prefixes. response.SystemNonce recognises systemNonce.
const (
	systemNonce = "sys"
	plainNonce  = "d"
	nonceLength = 25
)

// Nonce is the 25-character nonce under which the i-th message in place is deduplicated, where the channel does that. It is the same in every attempt.
// response.SystemNonce recognises those of System deliveries.
func (d *Delivery) Nonce(effectID, place string, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", cmp.Or(d.Seed, effectID), place, i))
	nonce := plainNonce
	if d.System {
		nonce = systemNonce
	}
	return (nonce + hex.EncodeToString(sum[:]))[:nonceLength]
}

// Place is the thread or channel to post in; opened is the thread opened for the delivery, or "".
func (d *Delivery) Place(opened string) string { return cmp.Or(opened, d.ThreadID, d.ChannelID) }
