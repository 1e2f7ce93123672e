package doctor

import (
	"context"
	"errors"
	"io/fs"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/server/settings"
)

// checkGateway asks the server for its gateway, or checks whether one could be opened.
func (c *checkup) checkGateway(ctx context.Context) {
	g := &c.place.Gateway
	at := g.Listen.Value
	if c.server != nil {
		if of := c.server.Gateway; of != nil {
			c.ok("gateway_answers", of.Address, "clients authenticate with %s", of.Auth)
			c.checkToken()
		} else {
			c.ok("gateway_none", c.place.API, "the server has no gateway, mode %s", c.server.Mode)
		}
		return
	}
	if err := g.Check(); err != nil {
		hint := ""
		if coded := eventstore.Coded(nil); errors.As(err, &coded) {
			hint = coded.Hint()
		}
		c.warn("gateway_refused", g.Listen.Source, hint, "openclawd serve would not open a gateway: %v", err)
		return
	}
	l, err := listenOnce(ctx, at)
	if err != nil {
		c.warn("gateway_taken", at, "start openclawd with --follow beside the gateway that runs there, or use another address with --gateway",
			"openclawd serve could not open its gateway: %v", err)
	} else {
		_ = l.Close()
		c.ok("gateway_free", at, "the address is free for a gateway")
	}
	c.checkToken()
}

// checkToken checks the file of the gateway token, if the token comes from it.
func (c *checkup) checkToken() {
	file := settings.TokenFile(c.place.StateDir)
	if !c.place.Gateway.Kept() {
		c.ok("gateway_token", c.place.Gateway.Mode.Source, "clients use the configured credentials: %s", c.place.Gateway.Mode.Value)
		return
	}
	switch kept, err := settings.ReadToken(file); {
	case errors.Is(err, fs.ErrNotExist) && c.server != nil:
		c.warn("gateway_token", file, "openclawd token --new makes one, which the server accepts; or set OPENCLAW_GATEWAY_TOKEN here as on the server",
			"the server has a token, but clients cannot find it here")
	case errors.Is(err, fs.ErrNotExist):
		c.ok("gateway_token", file, "no token yet; openclawd serve makes one")
	case err != nil:
		c.failed("gateway_token", file, "", err)
		c.findings[len(c.findings)-1].Code = "gateway_token"
	case kept.Exposed:
		c.warn("gateway_token", file, "chmod 600 "+file+"; openclawd token --new makes a new one", "other users can read the token and act on your behalf")
	default:
		c.ok("gateway_token", file, "readable only by its owner")
	}
}
