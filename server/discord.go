package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/command"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/services/notifier"
	"github.com/pronto-lab/openclawd/tools/collabtools"
)

// Maximum numbers of concurrent posts, follow-ups and notifications.
const (
	deliverySlots = 16
	trackerSlots  = 4
	webhookSlots  = 4
)

// discordSide is the channel Discord, with what notifies people.
type discordSide struct {
	*channelSide
	notifier *notifier.Follower
	webhook  worker.Handler

	transport *http.Transport // of webhooks
}

// openDiscordBots creates the bots, which connect when the program runs, and what posts through them.
func (p *Program) openDiscordBots(ctx context.Context, a *agents) error {
	side, o, err := p.newChannelSide(ctx, coordination.Discord)
	if err != nil {
		return err
	}
	if p.opts.DiscordAPI != "" {
		if o.Transport, err = discord.Redirect(p.opts.DiscordAPI); err != nil {
			return &config.SettingError{Setting: "--discord-api", Value: p.opts.DiscordAPI, Err: err, HintText: "name a server such as http://127.0.0.1:8080"}
		}
	}
	p.connect(side, discord.New(o))
	a.discord = &discordSide{channelSide: side,
		transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}}
	return nil
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
	d := a.discord
	d.notifier = notifier.New(notifier.Options{Log: p.log, Config: inForce, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "notify"),
		Bots: func(channel string) []collaborate.Bot { return a.side(channel).bots.Registry().ForCollaborate() },
		Buttons: func(channel, id string, mayApprove bool) []byte {
			buttons := command.Buttons
			if !mayApprove {
				buttons = command.RejectButton
			}
			return a.side(channel).bots.Components(buttons(inForce().Language(), id))
		}})
	d.webhook = notifier.Webhook(&http.Client{Transport: d.transport}, inForce, p.opts.Now)
}

// runDiscord keeps the configured bots connected until ctx ends.
func (p *Program) runDiscord(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	d := p.agents.discord
	defer d.transport.CloseIdleConnections()
	var watch sync.WaitGroup
	watch.Go(func() { p.followBots(ctx) })
	defer watch.Wait()
	return d.run(ctx, p)
}

// notifyPeople posts notifications about events until ctx ends.
func (p *Program) notifyPeople(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	if !p.catchesUp(ctx) {
		return nil
	}
	return p.agents.discord.notifier.Run(ctx)
}

// releasePlaces announces the end of suspensions in Discord until ctx ends.
func (p *Program) releasePlaces(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	return p.agents.discord.inbound.Run(ctx)
}

// places adapts the bots to requests between agents.
type places struct{ channel.Channel }

// Connected implements collabtools.Channel.
func (p places) Connected() []collaborate.Bot { return p.Registry().ForCollaborate() }
