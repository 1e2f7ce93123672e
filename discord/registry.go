package discord

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// Identity is a bot with both of its names.
type Identity struct {
	AccountID string
	AgentID   string // in lower case; "" if it speaks for none
	AgentName string // as people call the agent; "" if it has no name
	UserID    string // "" if it is not known before the bot has connected
	Connected bool
	Coming    bool // it is not connected, and about to be
}

// Registry says which bot speaks for which agent, as the bindings say. It does not change: Bots.Registry gives the one of the moment. Capitals make
// no difference in any lookup.
type Registry struct {
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

// Warning is something that is probably not meant.
type Warning struct {
	Code    string
	Subject string // the account or agent
	Text    string
	Mend    string
}

func (w Warning) String() string { return w.Text + ": " + w.Mend }

// RegistryOf is what a configuration says of the bots, none of which is connected.
func RegistryOf(c *config.Config) *Registry { return newRegistry(c, nil, nil) }

// newRegistry maps accounts to agents. users are the bots' user ids by account, as Discord tells them, of those that are connected; coming are the
// accounts whose bots are about to be.
func newRegistry(c *config.Config, users map[string]string, coming map[string]bool) *Registry {
	r := &Registry{names: map[string]string{}, agents: c.Agents}
	for id, name := range c.Discord.Mentions {
		r.names[id] = name
	}
	for _, account := range c.Discord.Accounts {
		user, connected := users[account.ID]
		bot := Identity{AccountID: account.ID, UserID: cmp.Or(user, account.BotUserID), Connected: connected, Coming: coming[account.ID]}
		bound := boundTo(c, account.ID)
		if agent := c.AgentNamed(bound); agent != nil {
			bot.AgentID, bot.AgentName = strings.ToLower(agent.ID), agent.Name
		}
		r.bots = append(r.bots, bot)
		r.judge(c, &account, bot, bound)
		if name := cmp.Or(bot.AgentName, bot.AgentID, account.Name, account.ID); bot.UserID != "" {
			r.names[bot.UserID] = name
		}
	}
	slices.SortFunc(r.bots, func(a, b Identity) int { return cmp.Compare(a.AccountID, b.AccountID) })
	r.judgeAll(c)
	return r
}

// boundTo is the agent whose binding names the account, else that of a binding for any account, else the one of the same id; "" if there is none.
func boundTo(c *config.Config, account string) (agent string) {
	for _, b := range c.Bindings {
		switch {
		case !strings.EqualFold(b.Channel, "discord"):
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

// judge warns about one account.
func (r *Registry) judge(c *config.Config, account *config.DiscordAccount, bot Identity, bound string) {
	if !account.Enabled || !c.Discord.Enabled {
		return
	}
	binding := fmt.Sprintf("add {agentId: ..., match: {channel: \"discord\", accountId: %q}} to bindings", account.ID)
	switch {
	case account.Token == "":
		r.warn(AccountWithoutToken, account.ID, fmt.Sprintf("account %s has no token that openclawd can read", account.ID),
			fmt.Sprintf("set channels.discord.accounts.%s.token, or enabled to false", account.ID))
	case bound == "":
		r.warn(BotWithoutAgent, account.ID, fmt.Sprintf("account %s speaks for no agent; what it is told goes to %s",
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

// judgeAll warns about what is missing.
func (r *Registry) judgeAll(c *config.Config) {
	if !c.Discord.Enabled || len(c.Discord.Accounts) == 0 {
		return
	}
	for _, a := range c.Agents {
		if _, has := r.botOf(a.ID); !has && !a.Utility {
			r.warn(AgentWithoutBot, strings.ToLower(a.ID), fmt.Sprintf("agent %s has no bot in Discord", a.ID),
				fmt.Sprintf("add an account to channels.discord.accounts, and {agentId: %q, match: {channel: \"discord\", accountId: ...}} to bindings", a.ID))
		}
	}
	for _, b := range c.Bindings {
		id := cmp.Or(b.AccountID, config.DefaultAccount)
		known := slices.ContainsFunc(r.bots, func(i Identity) bool { return strings.EqualFold(i.AccountID, id) })
		if strings.EqualFold(b.Channel, "discord") && !known && id != route.AnyAccount {
			r.warn(BindingWithoutAccount, id, fmt.Sprintf("a binding gives %s the account %s, which there is not", b.AgentID, id),
				fmt.Sprintf("add channels.discord.accounts.%s, or take the binding out", id))
		}
	}
}

func (r *Registry) warn(code, subject, text, mend string) {
	r.warnings = append(r.warnings, Warning{Code: code, Subject: subject, Text: text, Mend: mend})
}

// Bots are all that are configured, by account id.
func (r *Registry) Bots() []Identity { return slices.Clone(r.bots) }

// Warnings are what is probably not meant, for the log of the start.
func (r *Registry) Warnings() []Warning { return slices.Clone(r.warnings) }

// Agent is the id of the agent that is meant by a name: its id, else the id of an account that speaks for it, else a mention or the user id of its
// bot.
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

// Bot is the one that speaks for what is meant by a name: see Agent. Of several it is one that is connected, then the one of the agent's own id, then
// the first. What speaks for no agent is found by the id of its account.
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

// Account is the bot of an account.
func (r *Registry) Account(id string) (Identity, bool) {
	for _, b := range r.bots {
		if strings.EqualFold(b.AccountID, id) {
			return b, true
		}
	}
	return Identity{}, false
}

// User is the bot of a user id.
func (r *Registry) User(id string) (Identity, bool) {
	for _, b := range r.bots {
		if b.UserID == id && id != "" {
			return b, true
		}
	}
	return Identity{}, false
}

// ForRoute are the bots as coordination/route asks for them. One that is not connected sees nothing.
func (r *Registry) ForRoute() (bots []route.Bot) {
	for _, b := range r.bots {
		bots = append(bots, route.Bot{UserID: b.UserID, AccountID: b.AccountID, Agent: b.AgentID, Name: b.AgentName, Blind: !b.Connected})
	}
	return bots
}

// ForCollaborate are the bots as coordination/collaborate asks for them: those that are connected, or about to be. What is asked by or of one of the
// latter is posted without a connection, and it is told of it when it has one.
func (r *Registry) ForCollaborate() (bots []collaborate.Bot) {
	for _, b := range r.bots {
		if b.Connected || b.Coming && b.UserID != "" {
			bots = append(bots, collaborate.Bot{AccountID: b.AccountID, UserID: b.UserID, Agent: b.AgentID})
		}
	}
	return bots
}

// Table is the mapping in lines, for the log of the start.
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
