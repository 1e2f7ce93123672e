package server

import (
	"context"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel/command"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/services/notifier"
)

// webhookSlots is the maximum number of concurrent calls of webhooks.
const webhookSlots = 4

// notices tell people what has happened, in channels and by webhooks.
type notices struct {
	follower  *notifier.Follower
	webhook   worker.Handler
	transport *http.Transport // of webhooks
}

// openNotices creates what notifies people, through the bots of all channels.
func (a *agents) openNotices(p *Program, inForce func() *config.Config) {
	n := &a.notices
	n.transport = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}
	n.webhook = notifier.Webhook(&http.Client{Transport: n.transport}, inForce, p.opts.Now)
	n.follower = notifier.New(notifier.Options{Log: p.log, Config: inForce, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "notify"),
		Bots: func(channel string) []collaborate.Bot { return a.side(channel).bots.Registry().ForCollaborate() },
		Buttons: func(channel, id string, mayApprove bool) []byte {
			buttons := command.Buttons
			if !mayApprove {
				buttons = command.RejectButton
			}
			return a.side(channel).bots.Components(buttons(inForce().Language(), id))
		}})
}

// notifyPeople posts notifications about events until ctx ends.
func (p *Program) notifyPeople(ctx context.Context) error {
	if p.agents == nil {
		return nil
	}
	defer p.agents.notices.transport.CloseIdleConnections()
	if !p.catchesUp(ctx) {
		return nil
	}
	return p.agents.notices.follower.Run(ctx)
}
