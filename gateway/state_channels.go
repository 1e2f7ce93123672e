package gateway

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// discordChannel is the one channel that can be configured.
const discordChannel = "discord"

// channelState is what is known of a channel, or of an account of it.
type channelState struct {
	AccountID   string                   `json:"accountId,omitempty"`
	Name        string                   `json:"name,omitempty"`
	Enabled     *bool                    `json:"enabled,omitempty"` // of accounts
	Configured  bool                     `json:"configured"`
	Running     bool                     `json:"running"`
	Connected   *bool                    `json:"connected,omitempty"` // of accounts, where bots run
	Bot         *channelBot              `json:"bot,omitempty"`       // likewise, once it is known
	LastStartAt *int64                   `json:"lastStartAt"`
	LastStopAt  *int64                   `json:"lastStopAt"`
	LastError   *string                  `json:"lastError"`
	LastProbeAt *int64                   `json:"lastProbeAt"`
	ConnectedAt *int64                   `json:"lastConnectedAt,omitempty"` // of accounts that are connected
	Probe       *channelProbe            `json:"probe,omitempty"`           // of accounts: in health, and where one is asked for
	Accounts    map[string]*channelState `json:"accounts,omitempty"`        // in health
}

// channelBot is who speaks for an account.
type channelBot struct {
	ID       string `json:"id"`
	Username string `json:"username,omitempty"`
}

// channelProbe says whether an account works. Nobody is asked for it: a bot is connected or it is not.
type channelProbe struct {
	OK    bool        `json:"ok"`
	Error string      `json:"error,omitempty"`
	Bot   *channelBot `json:"bot,omitempty"`
}

// channelMeta says how a channel is shown.
type channelMeta struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	DetailLabel string `json:"detailLabel"`
}

// channelsAnswer answers channels.status.
type channelsAnswer struct {
	TS                      int64                      `json:"ts"`
	ChannelOrder            []string                   `json:"channelOrder"`
	ChannelLabels           map[string]string          `json:"channelLabels"`
	ChannelDetailLabels     map[string]string          `json:"channelDetailLabels"`
	ChannelSystemImages     map[string]string          `json:"channelSystemImages"`
	ChannelMeta             []channelMeta              `json:"channelMeta"`
	Channels                map[string]*channelState   `json:"channels"`
	ChannelAccounts         map[string][]*channelState `json:"channelAccounts"`
	ChannelDefaultAccountID map[string]string          `json:"channelDefaultAccountId"`
}

func (s *Server) answerChannels(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Probe   bool   `json:"probe"`
		Channel string `json:"channel"` // of protocol 4
	}](call)
	if err != nil {
		return nil, err
	}
	a := &channelsAnswer{
		TS: s.opts.Now().UnixMilli(), ChannelOrder: []string{}, ChannelLabels: map[string]string{}, ChannelDetailLabels: map[string]string{},
		ChannelSystemImages: map[string]string{}, ChannelMeta: []channelMeta{}, Channels: map[string]*channelState{},
		ChannelAccounts: map[string][]*channelState{}, ChannelDefaultAccountID: map[string]string{},
	}
	c := s.opts.Configuration.InForce()
	accounts := s.discordAccounts(c)
	if len(accounts) == 0 || p.Channel != "" && channelNamed(p.Channel) != discordChannel {
		return a, nil
	}
	if p.Probe {
		probe(accounts, a.TS)
	}
	meta := channelMeta{discordChannel, "Discord", "Discord Bot"}
	a.ChannelOrder, a.ChannelMeta = []string{meta.ID}, []channelMeta{meta}
	a.ChannelLabels[meta.ID], a.ChannelDetailLabels[meta.ID] = meta.Label, meta.DetailLabel
	a.Channels[meta.ID], a.ChannelAccounts[meta.ID] = summaryOf(accounts), accounts
	a.ChannelDefaultAccountID[meta.ID] = defaultAccount(c, accounts).AccountID
	return a, nil
}

// healthChannels are the channels as health tells them, at a time in ms since 1970.
func (s *Server) healthChannels(c *config.Config, now int64) (states map[string]*channelState, order []string, labels map[string]string) {
	accounts := s.discordAccounts(c)
	if len(accounts) == 0 {
		return map[string]*channelState{}, []string{}, map[string]string{}
	}
	probe(accounts, now)
	usual := defaultAccount(c, accounts)
	all := summaryOf(accounts)
	all.AccountID, all.Probe, all.LastProbeAt, all.Accounts = usual.AccountID, usual.Probe, usual.LastProbeAt, map[string]*channelState{}
	for _, account := range accounts {
		all.Accounts[account.AccountID] = account
	}
	return map[string]*channelState{discordChannel: all}, []string{discordChannel}, map[string]string{discordChannel: "Discord"}
}

// summaryOf is a channel as its accounts are.
func summaryOf(accounts []*channelState) *channelState {
	all := &channelState{Configured: isConfigured(accounts)}
	for _, account := range accounts {
		all.Running = all.Running || account.Running
		if all.LastError == nil {
			all.LastError = account.LastError
		}
	}
	return all
}

// defaultAccount is the account that counts where none is named.
func defaultAccount(c *config.Config, accounts []*channelState) *channelState {
	for _, account := range accounts {
		if strings.EqualFold(account.AccountID, c.Discord.DefaultAccount) {
			return account
		}
	}
	return accounts[0]
}

// discordAccounts are the accounts as they are configured, and as their bots stand.
func (s *Server) discordAccounts(c *config.Config) (all []*channelState) {
	bots := map[string]Bot{}
	for _, b := range s.bots() {
		bots[b.AccountID] = b
	}
	for _, account := range c.Discord.Accounts {
		enabled := c.Discord.Enabled && account.Enabled
		one := &channelState{AccountID: account.ID, Name: account.Name, Enabled: &enabled, Configured: account.Token != ""}
		if b, known := bots[account.ID]; known {
			one.stands(&b)
		}
		all = append(all, one)
	}
	return all
}

// bots are how the bots stand, none where none run.
func (s *Server) bots() []Bot {
	if s.opts.Posts == nil {
		return nil
	}
	return s.opts.Posts.Bots()
}

func (c *channelState) stands(b *Bot) {
	c.Running, c.Connected = b.Running, &b.Connected
	if b.UserID != "" {
		c.Bot = &channelBot{b.UserID, b.Name}
	}
	if b.Error != "" {
		c.LastError = &b.Error
	}
	if b.Connected && b.Since > 0 {
		c.ConnectedAt = &b.Since
	}
}

// probe says of each account that is to be connected whether it is, as of a time in ms since 1970.
func probe(accounts []*channelState, now int64) {
	for _, a := range accounts {
		if !*a.Enabled || !a.Configured || a.Connected == nil {
			continue
		}
		a.LastProbeAt, a.Probe = &now, &channelProbe{OK: *a.Connected, Bot: a.Bot}
		if a.Probe.OK {
			continue
		}
		if a.Probe.Error = "not connected yet"; a.LastError != nil {
			a.Probe.Error = *a.LastError
		}
	}
}

func isConfigured(accounts []*channelState) bool {
	for _, account := range accounts {
		if account.Configured {
			return true
		}
	}
	return false
}
