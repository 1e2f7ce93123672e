package doctor

import (
	"context"
	"errors"
	"io/fs"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/eventstore"
)

// checkGateway asks the server for its gateway, or finds out whether one could be opened.
func (c *checkup) checkGateway(ctx context.Context) {
	g := &c.place.Gateway
	at := g.Listen.Value
	if c.server != nil {
		if of := c.server.Gateway; of != nil {
			c.ok("gateway_answers", of.Address, "clients show %s", of.Auth)
			c.checkToken()
		} else {
			c.ok("gateway_none", c.place.API, "the server opens none, mode %s", c.server.Mode)
		}
		return
	}
	if err := g.Check(); err != nil {
		mend := ""
		if coded := eventstore.Coded(nil); errors.As(err, &coded) {
			mend = coded.Hint()
		}
		c.warn("gateway_refused", g.Listen.Source, mend, "openclawd serve would open no gateway: %v", err)
		return
	}
	l, err := listenOnce(ctx, at)
	if err != nil {
		c.warn("gateway_taken", at, "start openclawd with --follow beside the gateway that runs there, or with --gateway and another address",
			"openclawd serve could not open its gateway: %v", err)
	} else {
		_ = l.Close()
		c.ok("gateway_free", at, "the address is free for a gateway")
	}
	c.checkToken()
}

// checkToken looks at the file of the gateway's token, if that is where it comes from.
func (c *checkup) checkToken() {
	file := settings.TokenFile(c.place.StateDir)
	if !c.place.Gateway.Kept() {
		c.ok("gateway_token", c.place.Gateway.Mode.Source, "clients show what is set: %s", c.place.Gateway.Mode.Value)
		return
	}
	switch kept, err := settings.ReadToken(file); {
	case errors.Is(err, fs.ErrNotExist) && c.server != nil:
		c.warn("gateway_token", file, "openclawd token --new makes one, which the server takes; or set OPENCLAW_GATEWAY_TOKEN here as there",
			"the server has a token, but clients do not find it here")
	case errors.Is(err, fs.ErrNotExist):
		c.ok("gateway_token", file, "there is none yet; openclawd serve makes it")
	case err != nil:
		c.failed("gateway_token", file, "", err)
		c.findings[len(c.findings)-1].Code = "gateway_token"
	case kept.Exposed:
		c.warn("gateway_token", file, "chmod 600 "+file+"; openclawd token --new makes a new one", "other users may read the token and act for you")
	default:
		c.ok("gateway_token", file, "only its owner may read it")
	}
}
