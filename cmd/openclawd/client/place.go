package client

import (
	"context"
	"net/http"
	"path/filepath"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

// Place is where a server and its files are expected.
type Place struct {
	StateDir, DB string
	API          string // host:port
	Named        bool   // somebody has named DB or StateDir: only a server of that very database counts

	Config   *config.Config
	Findings config.Findings // with an error among them openclawd serve would not use Config
}

// PlaceOf finds the place as openclawd serve does. db and api are flags; "" is one that is not given. named says that the state directory
// was named too, and is not the default.
func PlaceOf(stateDir, db, api string, named bool, getenv func(string) string) *Place {
	p := &Place{StateDir: stateDir, DB: db, Named: named || db != ""}
	if db == "" {
		p.DB = filepath.Join(stateDir, database.Name)
	}
	p.Config, p.Findings = config.Load(settings.File(stateDir), getenv)
	found := settings.Of(p.Config, getenv, api, nil)
	p.API = found.API.Value
	return p
}

// Status asks the server, or says why there is none to be believed. DB is then the one that it serves.
func (p *Place) Status(ctx context.Context) (status *monitor.Status, why string) {
	var answer monitor.Status
	code, err := ask(ctx, p.API, "/api/status", &answer)
	switch {
	case code == 0:
		return nil, "no server answers at " + p.API
	case err != nil || code != http.StatusOK || answer.Database == nil:
		return nil, "what answers at " + p.API + " is no openclawd of this version"
	case p.Named && !sameFile(answer.Database.File, p.DB):
		return nil, "the server at " + p.API + " serves " + answer.Database.File
	}
	p.DB = answer.Database.File
	return &answer, ""
}

func sameFile(a, b string) bool {
	real := func(path string) string {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}
		return path
	}
	return real(a) == real(b)
}
