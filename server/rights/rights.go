// Package rights asks the services of the configured channels what each bot lacks there. It changes nothing, and needs no
// server.
package rights

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/telegram"
)

// Options of Check.
type Options struct {
	UserAgent string
	// Transports are for requests, by channel. Those that are missing are the channels' own.
	Transports map[string]http.RoundTripper
}

// atOnce is how many accounts are asked about at once.
const atOnce = 8

// Check asks about every account that would be connected. The findings, in the order of channels and accounts, are
// warnings: the server can use the configuration, and tries to connect.
func Check(ctx context.Context, c *config.Config, o Options) (findings config.Findings) {
	var slots, all = make(chan struct{}, atOnce), []*account{}
	for _, known := range coordination.Channels() {
		own := c.Channel(known.Name)
		for _, a := range own.Accounts {
			if own.Enabled && a.Enabled && a.Token != "" {
				all = append(all, &account{channel: known.Name, own: a})
			}
		}
	}
	var asking sync.WaitGroup
	for _, a := range all {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			a.faults = examine(ctx, c, a, o)
		})
	}
	asking.Wait()
	for _, a := range all {
		for _, f := range a.faults {
			findings = append(findings, config.Finding{Severity: config.Warning, Code: f.Code, File: c.File, Path: a.path(f.Setting),
				Message: strings.TrimSuffix(f.Text, "; "+f.Hint), Hint: f.Hint})
		}
	}
	return findings
}

// account is an account with what it lacks.
type account struct {
	channel string
	own     config.Account
	faults  []channel.Fault
}

func (a *account) path(setting string) string {
	path := "channels." + a.channel + ".accounts." + a.own.ID
	switch {
	case setting == "":
		return path
	case setting == "token" && a.channel != coordination.Discord:
		return path + ".botToken"
	}
	return path + "." + setting
}

func examine(ctx context.Context, c *config.Config, a *account, o Options) []channel.Fault {
	options := channel.Options{UserAgent: o.UserAgent, Transport: o.Transports[a.channel]}
	switch a.channel {
	case coordination.Telegram:
		return telegram.Examine(ctx, c, a.own, options)
	case coordination.Slack:
		return slack.Examine(ctx, c, a.own, options)
	}
	return discord.Examine(ctx, c, a.own, options)
}
