package config

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// DefaultAccount is the id of the account whose settings stand directly in channels.discord.
const DefaultAccount = "default"

// Discord holds channels.discord.
type Discord struct {
	Enabled bool

	// Accounts are the bots, the default one first if it has a token, the others by id.
	Accounts []DiscordAccount

	DefaultAccount string         // whose bot speaks where nothing says which; "" is the first
	Guilds         []DiscordGuild // that are listed, by id; with GroupPolicy allowlist only these are heeded

	AllowBots          string // no, yes or mentions: whether messages of foreign bots are answered
	HistoryIncludeBots bool
	HistoryLimit       int
	GroupPolicy        string // open, allowlist or disabled
	RequireMention     bool   // messages in channels that mention no agent are answered by nobody; only if it is set
	DMPolicy           string // pairing, allowlist, open or disabled
	AllowFrom          []string

	// Mentions are names of Discord users, by user id, besides those of our bots.
	Mentions map[string]string

	Collaboration Collaboration
	Retry         ResponseRetry
}

// DiscordGuild is what is set for one server.
type DiscordGuild struct {
	ID             string
	Users          []string // who may speak there, with Roles: either will do; without both it is everybody
	Roles          []string
	Channels       []string // that are heeded; none listed is all, NoChannel alone is none
	RequireMention *bool    // in place of that of all servers; nil is as for them
}

// NoChannel is the id of no channel.
const NoChannel = "-"

// DiscordAccount is a bot.
type DiscordAccount struct {
	ID        string
	Name      string
	Enabled   bool
	Token     Secret // "" if there is none that openclawd can read
	BotUserID string // as configured, else as the token tells; "" if neither does
}

// Collaboration says how agents work together in Discord threads.
type Collaboration struct {
	DefaultChannel       string   // where nothing else determines the channel
	AllowedChannels      []string // besides DefaultChannel; empty is no other one
	AllowedGuilds        []string // empty is any
	Escalation           Escalation
	ThreadReuse          time.Duration
	ObserverHistoryLimit int
	ObserverHistoryTTL   time.Duration
	ParticipantTTL       time.Duration
	ThreadMention        string                // participants or mentioned: who handles a message in a thread that mentions agents
	AutoRoute            bool                  // what an agent says to another one in a channel is an exchange between the two
	Language             coordination.Language // as set; "" is that of the agents' names: see Config.Language
	LoopGuard            LoopGuard
	RateLimit            RateLimit
}

// Escalation says where a person is told.
type Escalation struct {
	ChannelID     string // "" is where it happened
	MentionUserID string // who is notified; "" is ResponseRetry.EscalationUserID
}

// LoopGuard bounds what two agents may exchange.
type LoopGuard struct {
	MaxPerPair int
	Window     time.Duration
}

// RateLimit bounds what is sent to Discord.
type RateLimit struct {
	ThreadsPerMinute  int
	MessagesPerSecond int // per channel
}

// ResponseRetry says how an agent that was asked and does not answer is reminded.
type ResponseRetry struct {
	Enabled          bool
	ResponseTimeout  time.Duration
	MaxAttempts      int
	CheckInterval    time.Duration
	CleanupMaxAge    time.Duration
	EscalationUserID string // who is told in the end; may be ""
	NotifyOnFailure  bool
}
