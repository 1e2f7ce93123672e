package apiclient

import (
	"cmp"
	"context"
	"net/url"

	"github.com/pronto-lab/openclawd/monitor"
)

// Routing returns the recorded outcome of a message from the place's server. It returns the errors of read.
func (p *Place) Routing(ctx context.Context, messageID string) (*monitor.Routing, error) {
	answer := &monitor.Routing{}
	return answer, p.read(ctx, "/api/routing/"+url.PathEscape(messageID), answer)
}

// Bots returns the state of the bots of the place's server in a channel; "" is all. It returns the errors of read.
func (p *Place) Bots(ctx context.Context, channel string) (answer monitor.BotsAnswer, err error) {
	err = p.read(ctx, "/api/channels/"+cmp.Or(channel, "all")+"/bots", &answer)
	return answer, err
}
