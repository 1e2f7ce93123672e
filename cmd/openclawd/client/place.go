package client

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"

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
	apiNamed     bool   // by a flag: no other address counts
	writeToken   settings.Sourced[config.Secret]
	getenv       func(string) string

	Gateway settings.Gateway // without a token that only its file gives

	Config   *config.Config
	Findings config.Findings // with an error among them openclawd serve would not use Config
}

// PlaceOf finds the place as openclawd serve does. db and api are flags; "" is one that is not given, and an address may stand as serve prints it,
// http://127.0.0.1:3847. named says that the state directory was named too, and is not the default.
func PlaceOf(stateDir, db, api string, named bool, getenv func(string) string) *Place {
	api = strings.TrimSuffix(strings.TrimPrefix(api, "http://"), "/")
	p := &Place{StateDir: stateDir, DB: db, Named: named || db != "", apiNamed: api != "", getenv: getenv}
	if db == "" {
		p.DB = filepath.Join(stateDir, database.Name)
	}
	p.Config, p.Findings = config.Load(settings.File(stateDir), getenv)
	found := settings.Of(p.Config, getenv, api, nil)
	p.API, p.writeToken = found.API.Value, found.Token
	p.Gateway = settings.GatewayOf(p.Config, getenv, "", nil)
	return p
}

// Status asks the server, or says why there is none to be believed. The database says where its server is; if that one is gone, and where
// --api says so, API does. API and DB are then those of the server.
func (p *Place) Status(ctx context.Context) (status *monitor.Status, why string) {
	if at, _ := database.ServerOf(p.DB); at != "" && !p.apiNamed {
		if status, _ := p.statusAt(ctx, at, true); status != nil {
			p.API = at
			return status, ""
		}
	}
	return p.statusAt(ctx, p.API, p.Named)
}

// statusAt asks the server at an address. ours says that it has to serve DB.
func (p *Place) statusAt(ctx context.Context, api string, ours bool) (status *monitor.Status, why string) {
	var answer monitor.Status
	code, err := ask(ctx, api, "/api/status", &answer)
	switch {
	case code == 0:
		return nil, "no server answers at " + api
	case err != nil || code != http.StatusOK || answer.Database == nil:
		return nil, "what answers at " + api + " is no openclawd of this version"
	case ours && !sameFile(answer.Database.File, p.DB):
		return nil, "the server at " + api + " serves " + answer.Database.File
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

// Follows reports whether a server says that another gateway has the agents.
func Follows(status *monitor.Status) bool { return status.Mode == "follow" }

// Team is the configuration by which the agents of the place work: that of the server that has answered, nil for none, else of the place. It is
// nil where nobody can tell who they are: none is configured, the file cannot be used, or another gateway has them.
func (p *Place) Team(status *monitor.Status) *config.Config {
	team, findings := p.Config, p.Findings
	if status != nil {
		if Follows(status) || status.Config == nil {
			return nil
		}
		if status.Config.File != team.File {
			team, findings = config.Load(status.Config.File, p.getenv)
		}
	}
	if findings.Err() != nil || len(team.Agents) == 0 {
		return nil
	}
	return team
}
