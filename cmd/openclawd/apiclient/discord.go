package apiclient

import (
	"context"
	"net/url"

	"github.com/pronto-lab/openclawd/monitor"
)

// Routing returns the recorded outcome of a Discord message from the place's server. It returns the errors of read.
func (p *Place) Routing(ctx context.Context, messageID string) (*monitor.Routing, error) {
	answer := &monitor.Routing{}
	return answer, p.read(ctx, "/api/routing/"+url.PathEscape(messageID), answer)
}

// Bots returns the state of the bots of the place's server. It returns the errors of read.
func (p *Place) Bots(ctx context.Context) (answer monitor.BotsAnswer, err error) {
	err = p.read(ctx, "/api/discord/bots", &answer)
	return answer, err
}
