package channel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// Identity is a bot's account, agent and user.
type Identity struct {
	AccountID string
	AgentID   string // in lower case; "" if it belongs to none
	AgentName string // the agent's display name; "" if none
	UserID    string // "" until the bot has first connected
	Connected bool
	Coming    bool // not connected yet, but connecting
}

// Registry maps a channel's bots to agents according to the bindings. It is immutable: Connection.Registry returns the
// current one. Lookups ignore case.
type Registry struct {
	channel  string
	bots     []Identity        // by account id
	names    map[string]string // by user id
	agents   []config.Agent
	warnings []Warning
}

// Codes of a Warning.
const (
	BotWithoutAgent       = "bot_without_agent"
	AgentWithoutBot       = "agent_without_bot"
	BindingWithoutAccount = "binding_without_account"
	AccountWithoutToken   = "account_without_token"
	SameBot               = "same_bot"
)

// Warning is a probable mistake in the configuration.
type Warning struct {
	Code    string
	Subject string // the account or agent
	Text    string
	Hint    string
}

func (w Warning) String() string { return w.Text + ": " + w.Hint }

// Links are the state of a channel's connections.
type Links struct {
	Users  map[string]string // user ids of connected bots, by account
	Coming map[string]bool   // accounts whose bots are connecting
}

// RegistryOf maps the accounts of a channel to agents. The zero Links mean that no bot is connected.
func RegistryOf(c *config.Config, channel string, links Links) *Registry {
	own := c.Channel(channel)
	r := &Registry{channel: channel, names: map[string]string{}, agents: c.Agents}
	for id, name := range own.Mentions {
		r.names[id] = name
	}
	for _, account := range own.Accounts {
		user, connected := links.Users[account.ID]
		bot := Identity{AccountID: account.ID, UserID: cmp.Or(user, account.BotUserID), Connected: connected, Coming: links.Coming[account.ID]}
		bound := boundTo(c, channel, account.ID)
		if agent := c.AgentNamed(bound); agent != nil {
			bot.AgentID, bot.AgentName = strings.ToLower(agent.ID), agent.Name
		}
		r.bots = append(r.bots, bot)
		r.judge(c, own, &account, bot, bound)
		if name := cmp.Or(bot.AgentName, bot.AgentID, account.Name, account.ID); bot.UserID != "" {
			r.names[bot.UserID] = name
		}
	}
	slices.SortFunc(r.bots, func(a, b Identity) int { return cmp.Compare(a.AccountID, b.AccountID) })
	r.judgeAll(c, own)
	return r
}

// boundTo is the agent whose binding names the account, else that of a binding for any account, else the one with the
// same id; "" if there is none.
func boundTo(c *config.Config, channel, account string) (agent string) {
	for _, b := range c.Bindings {
		switch {
		case !strings.EqualFold(b.Channel, channel):
		case strings.EqualFold(cmp.Or(b.AccountID, config.DefaultAccount), account):
			return b.AgentID
		case b.AccountID == route.AnyAccount && agent == "":
			agent = b.AgentID
		}
	}
	if agent == "" && c.AgentNamed(account) != nil {
		return account
	}
	return agent
}

// judge adds warnings about one account.
func (r *Registry) judge(c *config.Config, own *config.Channel, account *config.Account, bot Identity, bound string) {
	if !account.Enabled || !own.Enabled {
		return
	}
	binding := fmt.Sprintf("add {agentId: ..., match: {channel: %q, accountId: %q}} to bindings", r.channel, account.ID)
	switch {
	case account.Token == "":
		r.warn(AccountWithoutToken, account.ID, fmt.Sprintf("account %s has no readable token", account.ID),
			fmt.Sprintf("set channels.%s.accounts.%s.token, or enabled to false", r.channel, account.ID))
	case bound == "":
		r.warn(BotWithoutAgent, account.ID, fmt.Sprintf("account %s belongs to no agent; its messages go to %s",
			account.ID, c.DefaultAgentID()), binding)
	case bot.AgentID == "":
		r.warn(BotWithoutAgent, account.ID, fmt.Sprintf("account %s is bound to %s, which is not configured", account.ID, bound),
			fmt.Sprintf("configure an agent called %s, or bind the account to another agent", bound))
	}
	for _, other := range r.bots {
		if other.AccountID != bot.AccountID && other.UserID == bot.UserID && bot.UserID != "" {
			r.warn(SameBot, account.ID, fmt.Sprintf("accounts %s and %s are the same bot", other.AccountID, account.ID),
				"give each account the token of a bot of its own")
		}
	}
}

// judgeAll adds warnings about what is missing.
func (r *Registry) judgeAll(c *config.Config, own *config.Channel) {
	if !own.Enabled || len(own.Accounts) == 0 {
		return
	}
	service, _ := coordination.ChannelNamed(r.channel)
	for _, a := range c.Agents {
		if _, has := r.botOf(a.ID); !has && !a.Utility {
			r.warn(AgentWithoutBot, strings.ToLower(a.ID), fmt.Sprintf("agent %s has no bot in %s", a.ID, service.Title),
				fmt.Sprintf("add an account to channels.%s.accounts, and {agentId: %q, match: {channel: %q, accountId: ...}} to bindings", r.channel, a.ID, r.channel))
		}
	}
	for _, b := range c.Bindings {
		id := cmp.Or(b.AccountID, config.DefaultAccount)
		known := slices.ContainsFunc(r.bots, func(i Identity) bool { return strings.EqualFold(i.AccountID, id) })
		if strings.EqualFold(b.Channel, r.channel) && !known && id != route.AnyAccount {
			r.warn(BindingWithoutAccount, id, fmt.Sprintf("a binding gives %s the account %s, which does not exist", b.AgentID, id),
				fmt.Sprintf("add channels.%s.accounts.%s, or remove the binding", r.channel, id))
		}
	}
}

func (r *Registry) warn(code, subject, text, hint string) {
	r.warnings = append(r.warnings, Warning{Code: code, Subject: subject, Text: text, Hint: hint})
}

// Name is the display name of the user of one of the bots, or of a configured mention; "" for anyone else.
func (r *Registry) Name(userID string) string { return r.names[userID] }

// Bots returns all configured bots, by account id.
func (r *Registry) Bots() []Identity { return slices.Clone(r.bots) }

// Warnings returns probable configuration mistakes, for the log at startup.
func (r *Registry) Warnings() []Warning { return slices.Clone(r.warnings) }

// Agent resolves a name to an agent id: an agent id, else the account id of an agent's bot, else a mention or user id
// of its bot.
func (r *Registry) Agent(name string) (id string, ok bool) {
	name = strings.TrimSpace(name)
	for _, a := range r.agents {
		if strings.EqualFold(a.ID, name) {
			return strings.ToLower(a.ID), true
		}
	}
	user := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "<@"), "!"), ">")
	for _, b := range r.bots {
		if b.AgentID != "" && (strings.EqualFold(b.AccountID, name) || b.UserID != "" && b.UserID == user) {
			return b.AgentID, true
		}
	}
	return "", false
}

// Bot returns the bot for a name; see Agent. Of several it prefers a connected one, then the one with the agent's id,
// then the first. A bot without agent is found by its account id.
func (r *Registry) Bot(name string) (Identity, bool) {
	if id, ok := r.Agent(name); ok {
		return r.botOf(id)
	}
	return r.Account(strings.TrimSpace(name))
}

func (r *Registry) botOf(agent string) (best Identity, ok bool) {
	rank := func(b Identity) int {
		n := 0
		if b.Connected {
			n += 2
		}
		if strings.EqualFold(b.AccountID, agent) {
			n++
		}
		return n
	}
	for _, b := range r.bots {
		if strings.EqualFold(b.AgentID, agent) && (!ok || rank(b) > rank(best)) {
			best, ok = b, true
		}
	}
	return best, ok
}

// Account returns an account's bot.
func (r *Registry) Account(id string) (Identity, bool) {
	for _, b := range r.bots {
		if strings.EqualFold(b.AccountID, id) {
			return b, true
		}
	}
	return Identity{}, false
}

// User returns the bot with a user id.
func (r *Registry) User(id string) (Identity, bool) {
	for _, b := range r.bots {
		if b.UserID == id && id != "" {
			return b, true
		}
	}
	return Identity{}, false
}

// ForRoute returns the bots for coordination/route. A disconnected one sees nothing.
func (r *Registry) ForRoute() (bots []route.Bot) {
	for _, b := range r.bots {
		bots = append(bots, route.Bot{UserID: b.UserID, AccountID: b.AccountID, Agent: b.AgentID, Name: b.AgentName, Blind: !b.Connected})
	}
	return bots
}

// ForCollaborate returns the bots for coordination/collaborate: connected or connecting. A connecting one can already
// post, and receives messages once connected.
func (r *Registry) ForCollaborate() (bots []collaborate.Bot) {
	for _, b := range r.bots {
		if b.Connected || b.Coming && b.UserID != "" {
			bots = append(bots, collaborate.Bot{AccountID: b.AccountID, UserID: b.UserID, Agent: b.AgentID})
		}
	}
	return bots
}

// Table formats the mapping as lines, for the log at startup.
func (r *Registry) Table() (lines []string) {
	for _, b := range r.bots {
		state := "not connected"
		if b.Connected {
			state = "connected"
		}
		lines = append(lines, fmt.Sprintf("account %s -> agent %s, bot %s, %s",
			b.AccountID, cmp.Or(b.AgentID, "(none)"), cmp.Or(b.UserID, "(unknown)"), state))
	}
	return lines
}
