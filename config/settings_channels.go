package config

import (
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// DefaultAccount is the id of the account configured directly in channels.discord.
const DefaultAccount = "default"

// Channel are the settings of one channel, such as channels.discord.
type Channel struct {
	Enabled bool

	// Accounts are the bots: the default one first if it has a token, the others by id.
	Accounts []Account

	DefaultAccount string // used if no account is specified; "" is the first

	Access

	AllowBots          string // no, yes or mentions: whether messages of other bots are answered
	HistoryIncludeBots bool
	HistoryLimit       int
	RequireMention     bool // no agent answers messages in channels without a mention; only if set

	// Mentions are names of users, by user id, in addition to our bots.
	Mentions map[string]string

	// MaxMedia is the limit of one file of a message, in bytes: see MediaLimit.
	MaxMedia int64

	Collaboration Collaboration
	Retry         ResponseRetry
}

// Access says where agents answer, and whom.
type Access struct {
	GroupPolicy string  // open, allowlist or disabled
	Guilds      []Guild // by id; with GroupPolicy allowlist only these are allowed
	DMPolicy    string  // pairing, allowlist, open or disabled
	AllowFrom   []string
}

// AccessOf is what holds for messages that an account receives.
func (c *Channel) AccessOf(account string) *Access {
	for i := range c.Accounts {
		if a := &c.Accounts[i]; a.Own != nil && strings.EqualFold(a.ID, account) {
			return a.Own
		}
	}
	return &c.Access
}

// Named are the places that are listed for an account, and those in which agents work together or people are notified.
func (c *Channel) Named(account string) (ids []string) {
	of := &c.Collaboration
	ids = append(slices.Clone(of.AllowedChannels), of.DefaultChannel, of.Escalation.ChannelID)
	for _, g := range c.AccessOf(account).Guilds {
		ids = append(ids, g.Channels...)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" || id == NoChannel })
}

// MediaLimit is the limit of one file of a message that an account receives, in bytes.
func (c *Channel) MediaLimit(account string) int64 {
	for i := range c.Accounts {
		if a := &c.Accounts[i]; strings.EqualFold(a.ID, account) && a.MaxMedia > 0 {
			return a.MaxMedia
		}
	}
	return c.MaxMedia
}

// Guild are the settings of one server.
type Guild struct {
	ID             string
	Users          []string // users who may speak there, or Roles; everyone if both are empty
	Roles          []string
	Channels       []string // allowed ones; empty is all, NoChannel alone is none
	RequireMention *bool    // instead of the setting for all servers; nil inherits it
	Rooms          []Room   // by id: channels, or topics, with settings of their own
}

// Room are the settings of a channel with its threads, or of a topic, instead of its server's.
type Room struct {
	ID             string // in the log; a * at its beginning stands for any beginning, * alone for all that are not listed
	Closed         bool   // no agent answers there
	Users          []string
	Roles          []string // with Users: who may speak there; if both are empty, those of the server
	RequireMention *bool
}

// Channel returns the settings of a channel. A channel that cannot be configured has the defaults, and no accounts.
func (c *Config) Channel(name string) *Channel {
	if strings.EqualFold(name, coordination.Discord) || name == "" {
		return &c.Discord
	}
	if strings.EqualFold(name, coordination.Telegram) {
		return &c.Telegram
	}
	if strings.EqualFold(name, coordination.Slack) {
		return &c.Slack
	}
	d := Default().Discord
	return &d
}

// Connects is the number of accounts that are connected.
func (c *Channel) Connects() (n int) {
	for i := range c.Accounts {
		if a := &c.Accounts[i]; c.Enabled && a.Enabled && a.Token != "" {
			n++
		}
	}
	return n
}

// NoChannel is never a channel's id.
const NoChannel = "-"

// Account is a bot.
type Account struct {
	ID        string
	Name      string
	Enabled   bool
	Token     Secret // "" if openclawd can read none
	BotUserID string // as configured, else from the token; "" if neither

	AppToken Secret  // of Slack: opens sockets
	Webhook  Webhook // of Telegram and Slack

	MaxMedia int64 // limit of one file of a message, in bytes; 0 is that of the channel

	Own *Access // instead of the channel's; nil: it has none
}

// Webhook is how a service delivers to this program. Without URL, Telegram is asked instead. Without Path, Slack delivers
// over sockets; Secret is then unused, otherwise it signs what Slack sends to Path of the gateway.
type Webhook struct {
	URL    string // public address that the service calls
	Secret Secret // that it sends, or signs with; required
	Path   string // on this machine, like Host and Port
	Host   string
	Port   int
}

// Collaboration are the settings of collaboration in threads.
type Collaboration struct {
	DefaultChannel       string   // used if nothing else determines the channel
	AllowedChannels      []string // in addition to DefaultChannel; may be empty
	AllowedGuilds        []string // empty means any
	Escalation           Escalation
	ThreadReuse          time.Duration
	ObserverHistoryLimit int
	ObserverHistoryTTL   time.Duration
	ParticipantTTL       time.Duration
	ThreadMention        string                // participants or mentioned: who handles a message in a thread that mentions agents
	AutoRoute            bool                  // a message from one agent to another in a channel starts an exchange
	Language             coordination.Language // as configured; "" depends on the agents' names: see Config.Language
	LoopGuard            LoopGuard
	RateLimit            RateLimit
}

// Escalation says how a person is notified.
type Escalation struct {
	ChannelID     string // "" is where it happened
	MentionUserID string // user to notify; "" is ResponseRetry.EscalationUserID
}

// LoopGuard limits exchanges between two agents.
type LoopGuard struct {
	MaxPerPair int
	Window     time.Duration
}

// RateLimit limits requests to the service.
type RateLimit struct {
	ThreadsPerMinute  int
	MessagesPerSecond int // per channel
}

// ResponseRetry are the reminders for agents that do not answer a request.
type ResponseRetry struct {
	Enabled          bool
	ResponseTimeout  time.Duration
	MaxAttempts      int
	CheckInterval    time.Duration
	CleanupMaxAge    time.Duration
	EscalationUserID string // user notified in the end; may be ""
	NotifyOnFailure  bool
}
