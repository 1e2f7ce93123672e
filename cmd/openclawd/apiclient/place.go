package apiclient

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
)

// Place is where a server and its files are expected.
type Place struct {
	StateDir, DB string
	API          string // host:port
	Named        bool   // DB or StateDir was named explicitly: only a server of that very database counts
	apiNamed     bool   // by a flag: no other address is tried
	writeToken   settings.Sourced[config.Secret]
	readToken    settings.Sourced[config.Secret]
	getenv       func(string) string

	Gateway settings.Gateway // without a token that is only in its file

	Config   *config.Config
	Findings config.Findings // with an error in it openclawd serve would reject Config
}

// PlaceOf finds the place as openclawd serve does. db and api are flags, "" if not given; api may be a URL as printed
// by serve, http://127.0.0.1:3847. named reports that the state directory was given too, and is not the default.
func PlaceOf(stateDir, db, api string, named bool, getenv func(string) string) *Place {
	api = strings.TrimSuffix(strings.TrimPrefix(api, "http://"), "/")
	p := &Place{StateDir: stateDir, DB: db, Named: named || db != "", apiNamed: api != "", getenv: getenv}
	if db == "" {
		p.DB = filepath.Join(stateDir, database.Name)
	}
	p.Config, p.Findings = config.Load(settings.File(stateDir), getenv)
	found := settings.Of(p.Config, getenv, api, nil)
	p.API, p.writeToken, p.readToken = found.API.Value, found.Token, found.Reading
	p.Gateway = settings.GatewayOf(p.Config, getenv, "", nil)
	return p
}

// Status asks the server for its status, or returns why no trustworthy one answers. The lock of the database says
// where its server is; if that one is gone, or --api is given, API is tried. On success API and DB are the server's.
func (p *Place) Status(ctx context.Context) (status *monitor.Status, why string) {
	if at, _ := database.ServerOf(p.DB); at != "" && !p.apiNamed {
		if status, _ := p.statusAt(ctx, at, true); status != nil {
			p.API = at
			return status, ""
		}
	}
	return p.statusAt(ctx, p.API, p.Named)
}

// statusAt asks the server at an address. ours requires that it serves DB.
func (p *Place) statusAt(ctx context.Context, api string, ours bool) (status *monitor.Status, why string) {
	var answer monitor.Status
	code, err := p.ask(ctx, api, "/api/status", &answer)
	switch {
	case code == 0:
		return nil, "no server answers at " + api
	case code == http.StatusUnauthorized:
		return nil, "the server at " + api + " requires a token for reading: taskMonitor.readToken or TASK_MONITOR_READ_TOKEN"
	case err != nil || code != http.StatusOK || answer.Database == nil:
		return nil, "the process at " + api + " is not openclawd of this version"
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

// Follows reports whether a server follows another gateway, which runs the agents.
func Follows(status *monitor.Status) bool { return status.Mode == "follow" }

// Team is the configuration of the place's agents: that of the answering server, else the place's own. It is nil if
// unknown: no agents configured, an unusable file, or another gateway runs them.
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
