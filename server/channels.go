package server

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/collabtools"
)

// Maximum numbers of concurrent posts and follow-ups.
const (
	deliverySlots = 16
	trackerSlots  = 4
)

// sides are the channels of the program, Discord first.
func (a *agents) sides() []*channelSide {
	return []*channelSide{a.discord, a.telegram, a.slack.channelSide}
}

// openChannels makes what hears the bots of all channels, and what asks for posts. runs are those that people stop.
func (p *Program) openChannels(a *agents, runs *runner.Runs) {
	inForce := p.newConfiguration().InForce
	o := collabtools.Options{Log: p.log, Config: inForce, Now: p.opts.Now, NewID: uuid.NewString, Logger: a.logger}
	for _, side := range a.sides() {
		o.Channels = append(o.Channels, places{side.bots})
	}
	a.requests = collabtools.New(o)
	for _, side := range a.sides() {
		side.open(p, a, runs)
	}
	a.openNotices(p, inForce)
}

// placeMark is the mark of a place in a text, as in Discord. Discord's own are numbers, which its bots resolve.
var placeMark = regexp.MustCompile(`<#([a-z]+:[a-z0-9:._-]{1,200})>`)

// names resolves mentions of users and places in texts to names; nil where no bots run.
func (a *agents) names() func(string) string {
	if a == nil {
		return nil
	}
	return func(text string) string {
		for _, side := range a.sides() {
			text = side.bots.Resolve(text)
			text = placeMark.ReplaceAllStringFunc(text, func(mark string) string {
				id := placeMark.FindStringSubmatch(mark)[1]
				if coordination.ChannelOf(id) != side.name {
					return mark
				}
				if name := side.bots.ChannelName(id); name != "" {
					return "#" + name
				}
				return mark
			})
		}
		return text
	}
}

// bots is the state of the bots of all channels; nil where none run.
func (a *agents) bots() func() []health.Bot {
	if a == nil {
		return nil
	}
	return func() (all []health.Bot) {
		for _, side := range a.sides() {
			all = append(all, side.bots.Status()...)
		}
		return all
	}
}

// side is a channel of the program.
func (a *agents) side(channel string) *channelSide {
	switch channel {
	case coordination.Telegram:
		return a.telegram
	case coordination.Slack:
		return a.slack.channelSide
	}
	return a.discord
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

// followBots applies each new configuration to the bots, until ctx ends.
func (p *Program) followBots(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
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

// then handles the end of a run: for the flows between agents, for the channels, and for scheduled jobs.
func (a *agents) then(tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
	flows, err := a.messenger.Then(tx, e)
	if err != nil {
		return nil, err
	}
	posted := false
	for _, side := range a.sides() {
		posts, err := side.replies.Then(tx, e.Asked, &e.Result, e.Now, e.Media...)
		if err != nil { // the end of the run, and its flow, do not depend on it
			a.logger.Error("cannot post a run's answer", "run", e.Result.RunID, "channel", side.name, "err", err)
		}
		posted = posted || len(posts) > 0
		flows = append(flows, posts...)
	}
	jobs, err := a.schedules.Then(tx, e, posted)
	if err != nil {
		return nil, err
	}
	calls, err := a.calls.Then(tx, e)
	if err != nil {
		return nil, err
	}
	return slices.Concat(flows, jobs, calls), nil
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

// remembered is the context of a run: what the agent has observed in the place of its session.
func (a *agents) remembered(tx eventstore.Tx, key coordination.SessionKey, now time.Time) (string, error) {
	for _, side := range a.sides() {
		if text, err := side.inbound.Remembered(tx, key, now); text != "" || err != nil {
			return text, err
		}
	}
	return "", nil
}

// Retries of an acknowledgement: only those after a restart, for a failure is not repeated.
const (
	ackAttempts = 100
	ackTime     = time.Minute
)

// acksTask carries out acknowledgements of messages.
func (c *channelSide) acksTask() worker.Handler {
	return worker.Task(worker.Policy{MaxAttempts: ackAttempts, Timeout: ackTime}, c.acks.Do)
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

// places adapts the bots of a channel to requests between agents.
type places struct{ channel.Channel }

// Connected implements collabtools.Channel.
func (p places) Connected() []collaborate.Bot { return p.Registry().ForCollaborate() }
