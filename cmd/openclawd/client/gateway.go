package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"strings"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

// Door is where a gateway is and what it wants to be shown.
type Door struct {
	URL string
	Secrets
}

// Secrets are what a gateway is shown. Without any they are those of the place.
type Secrets struct{ Token, Password config.Secret }

// GatewayDoor finds the gateway of the place: where the server that runs has opened it, else where openclawd serve would.
//
// Whoever answers at the API's address need not be our server: any user of the machine may listen there while ours does not, and would
// be shown our secrets if its answer were believed. So the answer only says which database to look at. Where the gateway is says the lock
// file of that database, which only its owner writes, and a database that nobody has named counts only if we own that file; its state
// directory is taken for the place only if it is ours too, and nobody else may read the token in it. What is left is a port that somebody
// else takes when our server is gone: who wants that ruled out names --url, or has the gateway listen where only we may.
func (p *Place) GatewayDoor(ctx context.Context, shown Secrets) (Door, error) {
	at := ""
	if status, _ := p.Status(ctx); status != nil && status.Gateway != nil && p.believes(status) {
		_, at = database.ServerOf(status.Database.File)
	}
	if at == "" || !p.mayBe(at) {
		at = p.Gateway.Listen.Value
		if err := p.Gateway.Check(); err != nil {
			return Door{}, err
		}
	}
	d := Door{"ws://" + reachableAt(at), shown}
	return d, p.complete(&d)
}

// believes reports whether the place is that of the server that answers. Where nobody has named another one, it becomes that of the server.
func (p *Place) believes(status *monitor.Status) bool {
	switch {
	case p.Named:
		return true // Status has found that it serves what was named
	case !isOurs(status.Database.File + ".lock"):
		return false
	case status.StateDir == "" || sameFile(status.StateDir, p.StateDir):
		return true
	}
	token, err := settings.ReadToken(settings.TokenFile(status.StateDir))
	if !isOurs(status.StateDir) || token.Exposed || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	p.StateDir = status.StateDir
	p.Config, p.Findings = config.Load(settings.File(p.StateDir), p.getenv)
	p.Gateway = settings.GatewayOf(p.Config, p.getenv, "", nil)
	return true
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
