package delivery

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
)

// Ack is a reaction of a bot to a message that its agent handles, to put there or to remove. It is work of AckKind. Doing it twice is
// harmless, and a failure is only logged: nothing depends on it. It has the key of posts in the same place, so that it is there before the
// answer, and is removed after it.
type Ack struct {
	Channel   string `json:"channel,omitempty"` // "": Discord
	AgentID   string `json:"agentId,omitempty"`
	AccountID string `json:"accountId"`
	ChannelID string `json:"channelId"`
	ThreadID  string `json:"threadId,omitempty"`
	MessageID string `json:"messageId"`
	Emoji     string `json:"emoji"`
	Remove    bool   `json:"remove,omitempty"`
}

// AckKind is the work kind of acknowledgements in a channel. They share the pool of its posts.
func AckKind(channel string) string { return channel + ".ack" }

// AckEffect is the effect id of an agent's acknowledgement of a message.
func AckEffect(messageID, agent string) string { return "ack/" + messageID + "/" + agent }

// Place is where the message is.
func (a *Ack) Place() string {
	if a.ThreadID != "" {
		return a.ThreadID
	}
	return a.ChannelID
}

// Work returns the acknowledgement as work. The error is a *Refusal.
func (a *Ack) Work(effectID string) (coordination.WorkScheduled, error) {
	d := Delivery{Channel: a.Channel, Purpose: Notice, AgentID: a.AgentID, AccountID: a.AccountID, ChannelID: a.ChannelID, ThreadID: a.ThreadID, ReplyTo: a.MessageID}
	for _, check := range [...]func() *Refusal{d.checkWho, d.checkPlace} {
		if r := check(); r != nil {
			return coordination.WorkScheduled{}, r
		}
	}
	if a.MessageID == "" || a.Emoji == "" || !isText(a.Emoji, maxName) {
		return coordination.WorkScheduled{}, &Refusal{"emoji", a.Emoji, "give a message, and an emoji of at most " + strconv.Itoa(maxName) + " bytes"}
	}
	payload, err := json.Marshal(a)
	if err != nil {
		return coordination.WorkScheduled{}, fmt.Errorf("write acknowledgement %s: %w", effectID, err)
	}
	channel := d.traits().Name
	return coordination.WorkScheduled{Context: coordination.Context{EventRole: coordination.RoleObservability}, EffectID: effectID, Kind: AckKind(channel),
		Key: d.key(effectID), Pool: channel, Owner: a.AgentID, Payload: payload}, nil
}
