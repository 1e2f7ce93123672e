package gateway

import (
	"context"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// discordChannel is the one channel that can be configured. Nothing is connected to it here, which is what every answer says.
const discordChannel = "discord"

// channelState is what is known of a channel, or of an account of it.
type channelState struct {
	AccountID   string                   `json:"accountId,omitempty"`
	Name        string                   `json:"name,omitempty"`
	Enabled     *bool                    `json:"enabled,omitempty"` // of accounts
	Configured  bool                     `json:"configured"`
	Running     bool                     `json:"running"`
	LastStartAt *int64                   `json:"lastStartAt"`
	LastStopAt  *int64                   `json:"lastStopAt"`
	LastError   *string                  `json:"lastError"`
	LastProbeAt *int64                   `json:"lastProbeAt"`
	Accounts    map[string]*channelState `json:"accounts,omitempty"` // in health
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

// answerChannels answers channels.status. There is nothing to probe, whatever is asked for.
func (s *Server) answerChannels(context.Context, *wire.Call) (any, error) {
	a := &channelsAnswer{
		TS: s.opts.Now().UnixMilli(), ChannelOrder: []string{}, ChannelLabels: map[string]string{}, ChannelDetailLabels: map[string]string{},
		ChannelSystemImages: map[string]string{}, ChannelMeta: []channelMeta{}, Channels: map[string]*channelState{},
		ChannelAccounts: map[string][]*channelState{}, ChannelDefaultAccountID: map[string]string{},
	}
	c := s.opts.Configuration.InForce()
	if accounts := discordAccounts(c); len(accounts) > 0 {
		meta := channelMeta{discordChannel, "Discord", "Discord Bot"}
		a.ChannelOrder, a.ChannelMeta = []string{meta.ID}, []channelMeta{meta}
		a.ChannelLabels[meta.ID], a.ChannelDetailLabels[meta.ID] = meta.Label, meta.DetailLabel
		a.Channels[meta.ID] = &channelState{Configured: isConfigured(accounts)}
		a.ChannelAccounts[meta.ID], a.ChannelDefaultAccountID[meta.ID] = accounts, accounts[0].AccountID
	}
	return a, nil
}

// healthChannels are the channels as health tells them.
func healthChannels(c *config.Config) (states map[string]*channelState, order []string, labels map[string]string) {
	accounts := discordAccounts(c)
	if len(accounts) == 0 {
		return map[string]*channelState{}, []string{}, map[string]string{}
	}
	all := &channelState{AccountID: accounts[0].AccountID, Configured: isConfigured(accounts), Accounts: map[string]*channelState{}}
	for _, account := range accounts {
		all.Accounts[account.AccountID] = account
	}
	return map[string]*channelState{discordChannel: all}, []string{discordChannel}, map[string]string{discordChannel: "Discord"}
}

func discordAccounts(c *config.Config) []*channelState {
	var all []*channelState
	for _, account := range c.Discord.Accounts {
		enabled := c.Discord.Enabled && account.Enabled
		all = append(all, &channelState{AccountID: account.ID, Name: account.Name, Enabled: &enabled, Configured: account.Token != ""})
	}
	return all
}

func isConfigured(accounts []*channelState) bool {
	for _, account := range accounts {
		if account.Configured {
			return true
		}
	}
	return false
}
