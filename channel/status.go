package channel

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
)

// BotStatus is the state of one account's bot. It is safe for concurrent use.
type BotStatus struct {
	o        *Options
	refresh  func()
	registry func() *Registry

	mu  sync.Mutex
	bot health.Bot
}

// NewBotStatus returns the state of a bot that begins to connect. refresh rebuilds the registry; it is called when the bot's state has
// changed, and may ask for Current.
func NewBotStatus(o *Options, a config.Account, refresh func(), registry func() *Registry) *BotStatus {
	return &BotStatus{o: o, refresh: refresh, registry: registry,
		bot: health.Bot{AccountID: a.ID, UserID: a.BotUserID, State: health.BotConnecting, Since: o.Now().UnixMilli()}}
}

// Current returns the state, without the agent.
func (s *BotStatus) Current() health.Bot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bot
}

// Update changes the state, and reports it if the bot's connection, or what the bot lacks, has changed.
func (s *BotStatus) Update(how func(*health.Bot)) {
	s.mu.Lock()
	before := s.bot
	how(&s.bot)
	moved := s.bot.State != before.State
	if moved {
		s.bot.Since = s.o.Now().UnixMilli()
	}
	now := s.bot
	s.mu.Unlock()
	if !moved && now.Missing == before.Missing {
		return
	}
	if moved {
		s.refresh()
	}
	registry := s.registry()
	now.Channel = registry.channel
	if who, known := registry.Account(now.AccountID); known {
		now.AgentID = who.AgentID
	}
	s.o.OnStatus(now)
}

// LinksOf are the links of bots with these states, by account id.
func LinksOf(bots map[string]health.Bot) Links {
	l := Links{Users: map[string]string{}, Coming: map[string]bool{}}
	for account, bot := range bots {
		switch bot.State {
		case health.BotReady:
			l.Users[account] = bot.UserID
		case health.BotConnecting, health.BotResuming:
			l.Coming[account] = true
		}
	}
	return l
}

// StatusOf returns the state of all accounts, by account id, with their agents. bots are the states of those that run.
func (r *Registry) StatusOf(accounts []config.Account, bots map[string]health.Bot) (all []health.Bot) {
	for _, a := range accounts {
		bot, runs := bots[a.ID]
		if !runs {
			bot = health.Bot{AccountID: a.ID, State: health.BotOff, UserID: a.BotUserID}
		}
		who, _ := r.Account(a.ID)
		bot.Channel, bot.AgentID = r.channel, who.AgentID
		all = append(all, bot)
	}
	slices.SortFunc(all, func(x, y health.Bot) int { return cmp.Compare(x.AccountID, y.AccountID) })
	return all
}
