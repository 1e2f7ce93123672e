package client

import (
	"context"
	"net"
	"net/url"
	"strings"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
)

// Door is where a gateway is and what it wants to be shown.
type Door struct {
	URL string
	Secrets
}

// Secrets are what a gateway is shown. Without any they are those of the place.
type Secrets struct{ Token, Password config.Secret }

// GatewayDoor finds the gateway of the place: where its server says, else where openclawd serve would open it.
func (p *Place) GatewayDoor(ctx context.Context, shown Secrets) (Door, error) {
	at := p.Gateway.Listen.Value
	if status, _ := p.Status(ctx); status != nil && status.Gateway != nil && p.mayBe(status.Gateway.Address) {
		at = status.Gateway.Address
		p.moveTo(status.StateDir)
	} else if err := p.Gateway.Check(); err != nil {
		return Door{}, err
	}
	d := Door{"ws://" + reachableAt(at), shown}
	return d, p.complete(&d)
}

// moveTo makes the place that of the server that answers, where nobody has named another one: its token is there, if we may read it.
func (p *Place) moveTo(stateDir string) {
	if p.Named || stateDir == "" || sameFile(stateDir, p.StateDir) {
		return
	}
	p.StateDir = stateDir
	p.Config, p.Findings = config.Load(settings.File(stateDir), p.getenv)
	p.Gateway = settings.GatewayOf(p.Config, p.getenv, "", nil)
}

// mayBe keeps whoever answers in the server's place from having a secret sent to another machine.
func (p *Place) mayBe(address string) bool {
	host, _, err := net.SplitHostPort(reachableAt(address))
	configured, _, _ := net.SplitHostPort(p.Gateway.Listen.Value)
	return err == nil && (IsLoopback(host) || host == configured)
}

// DoorAt is a gateway that is named. One on this machine is shown what the gateway of the place wants; secrets are sent to no other one.
func (p *Place) DoorAt(at *url.URL, shown Secrets) (Door, error) {
	d := Door{at.String(), shown}
	if !IsLoopback(at.Hostname()) {
		return d, nil
	}
	return d, p.complete(&d)
}

// complete has a door shown the secrets of the place, if it is not shown others.
func (p *Place) complete(d *Door) error {
	if d.Secrets != (Secrets{}) {
		return nil
	}
	g := p.Gateway
	if _, _, err := g.Keep(settings.TokenFile(p.StateDir), nil); err != nil {
		return err
	}
	switch g.Mode.Value {
	case settings.ModeToken:
		d.Token = g.Token.Value
	case settings.ModePassword:
		d.Password = g.Password.Value
	}
	return nil
}

// IsLoopback reports whether a host is this very machine, whatever else resolves names.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
