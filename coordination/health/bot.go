// Package health defines the types in which the parts of a running program report their state.
package health

import (
	"fmt"
	"strings"
)

// BotState is the state of a bot's connection.
type BotState string

// States of bots.
const (
	BotOff        BotState = "off" // not to be connected: disabled, without token, or Run does not run
	BotConnecting BotState = "connecting"
	BotReady      BotState = "ready"
	BotResuming   BotState = "resuming" // the connection was lost and is being restored
	BotFailed     BotState = "failed"   // connecting failed; the next attempt is at NextTry
)

// Bot is the state of a bot. Times are ms since 1970.
type Bot struct {
	Channel     string   `json:"channel"`
	AccountID   string   `json:"accountId"`
	AgentID     string   `json:"agentId,omitempty"` // absent: it belongs to no agent
	UserID      string   `json:"userId,omitempty"`  // absent: not yet known
	UserName    string   `json:"userName,omitempty"`
	GuildID     string   `json:"guildId,omitempty"` // of Slack: its workspace; absent before the first connection
	Site        string   `json:"site,omitempty"`    // likewise: where that is in the web
	State       BotState `json:"state"`
	Since       int64    `json:"since"`
	Class       string   `json:"class,omitempty"`   // failed only
	Text        string   `json:"text,omitempty"`    // failed only: the cause
	Hint        string   `json:"hint,omitempty"`    // failed only: what to do
	NextTry     int64    `json:"nextTry,omitempty"` // failed only
	Missing     string   `json:"missing,omitempty"` // missing permissions and intents of a connected bot
	MissingHint string   `json:"missingHint,omitempty"`
	Connections int      `json:"connections"` // since the start
	Resumes     int      `json:"resumes"`     // number of those that resumed a session
	Fetched     int      `json:"fetched"`     // messages fetched after a gap
	Unread      int      `json:"unread"`      // channels in which it may have missed messages
}

// Problem is what is wrong with the bot, and what to do about it; "" for nothing.
func (b *Bot) Problem() (wrong, hint string) {
	switch {
	case b.Text != "":
		return strings.TrimSuffix(b.Text, "; "+b.Hint), b.Hint
	case b.Missing != "":
		return b.Missing, b.MissingHint
	case b.AgentID == "":
		return "it speaks for no agent", fmt.Sprintf("add {agentId: ..., match: {channel: %q, accountId: %q}} to bindings", b.Channel, b.AccountID)
	}
	return "", ""
}
