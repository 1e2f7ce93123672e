package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/slack"
)

// slackSide is the channel Slack, and what takes the events that come by HTTP.
type slackSide struct {
	*channelSide
	receiver http.Handler
}

// openSlackApps creates the apps of Slack, which connect when the program runs.
func (p *Program) openSlackApps(ctx context.Context, a *agents) error {
	side, o, err := p.newChannelSide(ctx, coordination.Slack)
	if err != nil {
		return err
	}
	if p.opts.SlackAPI != "" {
		if o.Transport, err = slack.Redirect(p.opts.SlackAPI); err != nil {
			return &config.SettingError{Setting: "--slack-api", Value: p.opts.SlackAPI, Err: err, HintText: "name a server such as http://127.0.0.1:8082"}
		}
	}
	apps := slack.New(o)
	p.connect(side, apps)
	a.slack = &slackSide{side, apps}
	return nil
}

// withSlack serves the paths to which Slack sends events, and leaves all others to the gateway.
func (p *Program) withSlack(gateway http.Handler) http.Handler {
	if p.agents == nil {
		return gateway
	}
	inForce := p.newConfiguration().InForce
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := func(a config.Account) bool { return a.Webhook.Path != "" && a.Webhook.Path == r.URL.Path }
		if r.Method == http.MethodPost && slices.ContainsFunc(inForce().Slack.Accounts, own) {
			p.agents.slack.receiver.ServeHTTP(w, r)
			return
		}
		gateway.ServeHTTP(w, r)
	})
}
