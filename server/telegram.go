package server

import (
	"context"
	"sync"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/telegram"
)

// openTelegramBots creates the bots of Telegram, which connect when the program runs.
func (p *Program) openTelegramBots(ctx context.Context, a *agents) error {
	side, o, err := p.newChannelSide(ctx, coordination.Telegram)
	if err != nil {
		return err
	}
	if p.opts.TelegramAPI != "" {
		if o.Transport, err = telegram.Redirect(p.opts.TelegramAPI); err != nil {
			return &config.SettingError{Setting: "--telegram-api", Value: p.opts.TelegramAPI, Err: err, HintText: "name a server such as http://127.0.0.1:8081"}
		}
	}
	p.connect(side, telegram.New(o))
	a.telegram = side
	return nil
}

// openTelegram makes what hears the bots of Telegram, and what asks for posts. Agents do not ask each other in topics yet, so no answer
// belongs to a request.
func (p *Program) openTelegram(a *agents, runs *runner.Runs) {
	t := a.telegram
	t.sends = t.newSends(p)
	t.open(p, a, runs, nil, map[string]outbound.Then{delivery.Send: t.sends.Delivered})
}

// runTelegram keeps the configured bots connected until ctx ends.
func (p *Program) runTelegram(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	var watch sync.WaitGroup
	watch.Go(func() { _ = p.agents.telegram.inbound.Run(ctx) }) // ends with ctx, and has no other error
	defer watch.Wait()
	return p.agents.telegram.run(ctx, p)
}

// sides are the channels of the program, Discord first.
func (a *agents) sides() []*channelSide {
	return []*channelSide{a.discord.channelSide, a.telegram, a.slack.channelSide}
}

// allAnnouncements posts announcements in the channel that each names.
type allAnnouncements struct{ of func() []announcements }

func (c allAnnouncements) in(channel string) (announcements, bool) {
	for _, one := range c.of() {
		if one.Reaches(channel) {
			return one, true
		}
	}
	return announcements{}, false
}

// Reaches implements messenger.Channels.
func (c allAnnouncements) Reaches(channel string) bool {
	_, is := c.in(channel)
	return is
}

// Account implements messenger.Channels.
func (c allAnnouncements) Account(post messenger.Post) string {
	if one, is := c.in(post.Channel); is {
		return one.Account(post)
	}
	return post.AccountID
}

// Post implements messenger.Channels.
func (c allAnnouncements) Post(ctx context.Context, post messenger.Post) error {
	one, is := c.in(post.Channel)
	if !is {
		return &delivery.Refusal{Field: "channel", Value: post.Channel, HintText: "add an account with a token to channels." + post.Channel}
	}
	return one.Post(ctx, post)
}

// announcements are those of all channels.
func (p *Program) announcements(a *agents) allAnnouncements {
	return allAnnouncements{of: func() (all []announcements) {
		for _, side := range a.sides() {
			all = append(all, announcements{p, side})
		}
		return all
	}}
}
