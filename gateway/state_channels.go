package gateway

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

func channelNames() (names []string) {
	for _, c := range coordination.Channels() {
		names = append(names, c.Name)
	}
	return names
}

// isChannel reports whether a name, not "", is one of a channel.
func isChannel(name string) bool {
	_, known := coordination.ChannelNamed(name)
	return known && name != ""
}

// channelState is the state of a channel or one of its accounts.
type channelState struct {
	AccountID   string                   `json:"accountId,omitempty"`
	Name        string                   `json:"name,omitempty"`
	Enabled     *bool                    `json:"enabled,omitempty"` // accounts only
	Configured  bool                     `json:"configured"`
	Running     bool                     `json:"running"`
	Connected   *bool                    `json:"connected,omitempty"` // accounts only, if bots run
	Bot         *channelBot              `json:"bot,omitempty"`       // likewise, once known
	LastStartAt *int64                   `json:"lastStartAt"`
	LastStopAt  *int64                   `json:"lastStopAt"`
	LastError   *string                  `json:"lastError"`
	LastProbeAt *int64                   `json:"lastProbeAt"`
	ConnectedAt *int64                   `json:"lastConnectedAt,omitempty"` // connected accounts only
	Probe       *channelProbe            `json:"probe,omitempty"`           // accounts only: in health, and for a single account
	Accounts    map[string]*channelState `json:"accounts,omitempty"`        // in health
}

type channelBot struct {
	ID       string `json:"id"`
	Username string `json:"username,omitempty"`
}

// channelProbe says whether an account works. It makes no request: it reports whether the bot is connected.
type channelProbe struct {
	OK    bool        `json:"ok"`
	Error string      `json:"error,omitempty"`
	Bot   *channelBot `json:"bot,omitempty"`
}

type channelMeta struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	DetailLabel string `json:"detailLabel"`
}

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
		Channel string `json:"channel"` // protocol 4
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
	bots := s.bots()
	for _, channel := range coordination.Channels() {
		accounts := accountsIn(c, bots, channel.Name)
		if len(accounts) == 0 || p.Channel != "" && channelNamed(p.Channel) != channel.Name {
			continue
		}
		if p.Probe {
			probe(accounts, a.TS)
		}
		meta := channelMeta{channel.Name, channel.Title, channel.Title + " Bot"}
		a.ChannelOrder, a.ChannelMeta = append(a.ChannelOrder, meta.ID), append(a.ChannelMeta, meta)
		a.ChannelLabels[meta.ID], a.ChannelDetailLabels[meta.ID] = meta.Label, meta.DetailLabel
		a.Channels[meta.ID], a.ChannelAccounts[meta.ID] = summaryOf(accounts), accounts
		a.ChannelDefaultAccountID[meta.ID] = defaultAccount(c.Channel(channel.Name), accounts).AccountID
	}
	return a, nil
}

// healthChannels are the channels in health, at a time in ms since 1970.
func (s *Server) healthChannels(c *config.Config, now int64) (states map[string]*channelState, order []string, labels map[string]string) {
	states, order, labels = map[string]*channelState{}, []string{}, map[string]string{}
	bots := s.bots()
	for _, channel := range coordination.Channels() {
		accounts := accountsIn(c, bots, channel.Name)
		if len(accounts) == 0 {
			continue
		}
		probe(accounts, now)
		usual := defaultAccount(c.Channel(channel.Name), accounts)
		all := summaryOf(accounts)
		all.AccountID, all.Probe, all.LastProbeAt, all.Accounts = usual.AccountID, usual.Probe, usual.LastProbeAt, map[string]*channelState{}
		for _, account := range accounts {
			all.Accounts[account.AccountID] = account
		}
		states[channel.Name], labels[channel.Name] = all, channel.Title
		order = append(order, channel.Name)
	}
	return states, order, labels
}

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

// defaultAccount is the account of a channel used if none is named.
func defaultAccount(own *config.Channel, accounts []*channelState) *channelState {
	for _, account := range accounts {
		if strings.EqualFold(account.AccountID, own.DefaultAccount) {
			return account
		}
	}
	return accounts[0]
}

// accountsIn are the configured accounts of a channel with the state of their bots.
func accountsIn(c *config.Config, bots []bot, channel string) (all []*channelState) {
	own := c.Channel(channel)
	for _, account := range own.Accounts {
		enabled := own.Enabled && account.Enabled
		one := &channelState{AccountID: account.ID, Name: account.Name, Enabled: &enabled, Configured: account.Token != ""}
		for i := range bots {
			if bots[i].Channel == channel && bots[i].AccountID == account.ID {
				one.setBot(&bots[i])
			}
		}
		all = append(all, one)
	}
	return all
}

// configuredChannels are the names of the channels of which an account has a token.
func (s *Server) configuredChannels(c *config.Config) (names []string) {
	for _, name := range channelNames() {
		if isConfigured(accountsIn(c, nil, name)) {
			names = append(names, name)
		}
	}
	return names
}

type bot struct {
	Channel   string
	AccountID string
	UserID    string // "" before it is known
	Name      string // likewise
	Running   bool   // connected or connecting
	Connected bool
	Since     int64  // ms since 1970 of the last state change; 0 if unknown
	Error     string // the problem with its hint; "" if none
}

// bots are the states of the bots, none if none run.
func (s *Server) bots() (list []bot) {
	if s.opts.Bots == nil {
		return nil
	}
	for _, b := range s.opts.Bots() {
		one := bot{b.Channel, b.AccountID, b.UserID, b.UserName, b.State != health.BotOff, b.State == health.BotReady, b.Since, b.Text}
		hint := b.Hint
		if one.Error == "" {
			one.Error, hint = b.Missing, b.MissingHint
		}
		if one.Error != "" && hint != "" {
			one.Error += "; " + hint
		}
		list = append(list, one)
	}
	return list
}

func (c *channelState) setBot(b *bot) {
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

// probe reports for each enabled account whether it is connected, at a time in ms since 1970.
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
