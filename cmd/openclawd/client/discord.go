package client

import (
	"context"
	"net/url"

	"github.com/pronto-lab/openclawd/monitor"
)

// Routing is what became of a message of Discord, as the server of the place says. Errors are those of read.
func (p *Place) Routing(ctx context.Context, messageID string) (*monitor.Routing, error) {
	answer := &monitor.Routing{}
	return answer, p.read(ctx, "/api/routing/"+url.PathEscape(messageID), answer)
}

// Bots are how the bots of the server of the place stand in Discord. Errors are those of read.
func (p *Place) Bots(ctx context.Context) (answer monitor.BotsAnswer, err error) {
	err = p.read(ctx, "/api/discord/bots", &answer)
	return answer, err
}
