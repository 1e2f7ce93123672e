package apiclient

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
)

// Endpoint is the address of a gateway and the secrets to present.
type Endpoint struct {
	URL string
	Secrets
}

// Secrets are what is presented to a gateway; by default those of the place.
type Secrets struct{ Token, Password config.Secret }

// GatewayEndpoint finds the gateway of the place: where the running server opened it, else where openclawd serve would.
//
// An answer at the API's address need not come from our server: while it is down, any user of the machine may listen
// there, and would get our secrets if its answer were trusted. So the answer only says which database to look at. The
// gateway's address comes from the lock file of that database, which only its owner writes; a database that the user
// did not name counts only if we own that file, and its state directory is used only if we own it too and its token
// is not readable by others. The remaining risk is a port that another user takes while our server is down; to
// exclude that, use --url, or have the gateway listen where only we may.
func (p *Place) GatewayEndpoint(ctx context.Context, shown Secrets) (Endpoint, error) {
	at := ""
	if status, _ := p.Status(ctx); status != nil && status.Gateway != nil && p.believes(status) {
		_, at = database.ServerOf(status.Database.File)
	}
	if at == "" || !p.mayBe(at) {
		at = p.Gateway.Listen.Value
		if err := p.Gateway.Check(); err != nil {
			return Endpoint{}, err
		}
	}
	d := Endpoint{"ws://" + reachableAt(at), shown}
	return d, p.complete(&d)
}

// believes reports whether the place belongs to the answering server. If the user named none, the place becomes the
// server's.
func (p *Place) believes(status *monitor.Status) bool {
	switch {
	case p.Named:
		return true // Status verified that it serves the named one
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

// mayBe prevents an impostor from having a secret sent to another machine.
func (p *Place) mayBe(address string) bool {
	host, _, err := net.SplitHostPort(reachableAt(address))
	configured, _, _ := net.SplitHostPort(p.Gateway.Listen.Value)
	return err == nil && (IsLoopback(host) || host == configured)
}

// EndpointAt is the gateway at an explicit URL. The place's secrets are sent only to a gateway on this machine.
func (p *Place) EndpointAt(at *url.URL, shown Secrets) (Endpoint, error) {
	d := Endpoint{at.String(), shown}
	if !IsLoopback(at.Hostname()) {
		return d, nil
	}
	return d, p.complete(&d)
}

// complete adds the secrets of the place, unless others are set.
func (p *Place) complete(d *Endpoint) error {
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

// IsLoopback reports whether a host is this machine, without resolving names.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
