package server

import (
	"context"
	"sync"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// sides are the channels of the program, Discord first.
func (a *agents) sides() []*channelSide {
	return []*channelSide{a.discord.channelSide, a.telegram, a.slack.channelSide}
}

// side is a channel of the program.
func (a *agents) side(channel string) *channelSide {
	switch channel {
	case coordination.Telegram:
		return a.telegram
	case coordination.Slack:
		return a.slack.channelSide
	}
	return a.discord.channelSide
}

// runChannel keeps the configured bots of a channel connected, and hears them, until ctx ends.
func (p *Program) runChannel(of func(*agents) *channelSide) func(context.Context) error {
	return func(ctx context.Context) error {
		if p.agents == nil {
			return nil
		}
		side := of(p.agents)
		var watch sync.WaitGroup
		watch.Go(func() { _ = side.inbound.Run(ctx) }) // ends with ctx, and has no other error
		defer watch.Wait()
		return side.run(ctx, p)
	}
}

// followBots applies each new configuration to the bots.
func (p *Program) followBots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.config.changed:
			p.configureBots()
		}
	}
}

// configureBots applies the configuration in force to the bots. It must not be called concurrently.
func (p *Program) configureBots() {
	for _, side := range p.agents.sides() {
		side.configure(p.newConfiguration().InForce())
	}
}

// then handles the end of a run: for the flows between agents, and for the channels.
func (a *agents) then(tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
	flows, err := a.messenger.Then(tx, e)
	if err != nil {
		return nil, err
	}
	for _, side := range a.sides() {
		posts, err := side.replies.Then(tx, e.Asked, &e.Result, e.Now)
		if err != nil { // the end of the run, and its flow, do not depend on it
			a.logger.Error("cannot post a run's answer", "run", e.Result.RunID, "channel", side.name, "err", err)
		}
		flows = append(flows, posts...)
	}
	return flows, nil
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
