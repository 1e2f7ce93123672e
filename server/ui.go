package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/ui"
	"github.com/pronto-lab/openclawd/web"
)

// hub is Task-Hub, the web page.
type hub struct {
	site   *ui.Site
	key    *uiKey
	logger *slog.Logger

	inForce atomic.Pointer[settings.Settings]
}

// configure applies the settings of the API from now on.
func (h *hub) configure(s settings.Settings) {
	if h != nil {
		h.inForce.Store(&s)
	}
}

// openUI reads the files of Task-Hub and the key of its sessions, unless it is off.
func (p *Program) openUI() error {
	files := web.Files()
	if p.opts.NoUI || files == nil {
		return nil
	}
	logger := p.opts.Logger.With("component", "ui")
	h := &hub{key: openUIKey(settings.UIKeyFile(p.opts.StateDir), logger), logger: logger}
	h.configure(p.settings)
	api := p.ofPage(p.monitor.Handler())
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(monitor.WithGrant(r.Context(), grantOf(ui.SessionOf(r.Context())))))
	})
	site, err := ui.New(ui.Options{
		Files: files, API: answer, Live: answer, Gateway: p.uiGateway(), Admits: p.monitor.Admits, Now: p.opts.Now, Logger: logger,
		Access: p.uiAccess, EndSessions: h.key.renew, LogID: logIDOf(h.key.current().ID, p.opts.DB),
		Store: uiStore{filepath.Join(p.opts.StateDir, uiStoreName)},
		Mode:  p.mode(), Version: buildinfo.Read().Version,
		Features: func() ui.Features {
			return ui.Features{Gateway: p.gateway != nil || p.follows() && p.node.gateway != nil, SQL: p.sql != nil, Discord: p.hasBots()}
		},
	})
	if err != nil {
		return err
	}
	h.site = site
	p.hub = h
	if p.reachable && p.settings.Reading.Value == "" {
		logger.Warn("other machines may read the whole API without a login: the login of the page guards the page only",
			"address", p.settings.API.Value, "hint", "set taskMonitor.readToken, or have a proxy pass on /ui/ only")
	}
	return nil
}

// grantOf is what a session may do in the API. What it does is recorded with its name and role.
func grantOf(s ui.Session) monitor.Grant {
	g := monitor.Grant{Write: s.Role >= ui.Operate, Admin: s.Role >= ui.Admin}
	if s.By != "" {
		g.By = fmt.Sprintf("%s (%s)", s.By, s.Role)
	}
	return g
}

func (p *Program) hasBots() bool {
	bots := p.agents.bots()
	return bots != nil && len(bots()) > 0
}

// logIDOf tells logs on one machine apart.
func logIDOf(stateDirID []byte, db string) string {
	if absolute, err := filepath.Abs(db); err == nil {
		db = absolute
	}
	sum := sha256.Sum256(append([]byte(db+"\x00"), stateDirID...))
	return hex.EncodeToString(sum[:4])
}

// HubLink is the URL of Task-Hub, "" if it is not served. A link that opens carries a one-time code where a login is required.
func (p *Program) HubLink(opens bool) string {
	if p.hub == nil {
		return ""
	}
	link := "http://" + p.address + ui.Base
	if host, port, err := net.SplitHostPort(p.address); err == nil && net.ParseIP(host).IsUnspecified() {
		link = "http://" + net.JoinHostPort("127.0.0.1", port) + ui.Base
	}
	if access := p.uiAccess(); opens && access.Open == ui.None {
		link += ui.CodeFragment + p.hub.site.NewCode()
	}
	return link
}

// runUI does the background work of Task-Hub.
func (p *Program) runUI(ctx context.Context) error {
	if p.hub == nil {
		return nil
	}
	return p.hub.site.Run(ctx)
}

// handler serves the API and, below /ui/, Task-Hub.
func (p *Program) handler() http.Handler {
	api := p.monitor.Handler()
	if p.hub == nil {
		return api
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case ui.Owns(r):
			p.hub.site.ServeHTTP(w, r)
		case ui.WantsPage(r) && p.monitor.Admits(r):
			ui.Redirect(w)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// uiAccess are the rules of access to Task-Hub under the settings in force. Without a token programs of this machine may use the API
// directly, and so may pages; where a configuration that cannot be read may require one, they may only read.
func (p *Program) uiAccess() ui.Access {
	s := p.hub.inForce.Load()
	a := ui.Access{Key: p.hub.key.current().Key}
	switch {
	case p.reachable || s.Token.Value != "" || s.Reading.Value != "":
	case s.Sealed:
		a.Open = ui.Read
	default:
		a.Open = ui.Operate
	}
	add := func(secret ui.Secret, token config.Secret) {
		if token != "" {
			secret.Digest = sha256.Sum256([]byte(token.Reveal()))
			a.Secrets = append(a.Secrets, secret)
		}
	}
	const operator = "operator"
	add(ui.Secret{Source: "writeToken", Name: operator, Role: ui.Operate}, s.Token.Value)
	add(ui.Secret{Source: "readToken", Name: "reader", Role: ui.Read}, s.Reading.Value)
	if g := p.gateway; g != nil {
		switch in := g.settings(); in.Mode.Value {
		case settings.ModeToken:
			add(ui.Secret{Source: "gatewayToken", Name: operator, Role: ui.Operate}, in.Token.Value)
		case settings.ModePassword:
			add(ui.Secret{Source: "gatewayPassword", Name: operator, Role: ui.Operate}, in.Password.Value)
		}
	}
	for _, v := range s.Viewers {
		name := sha256.Sum256([]byte(v.Name))
		add(ui.Secret{Source: "viewer-" + hex.EncodeToString(name[:8]), Name: v.Name, Role: ui.Read}, v.Token)
	}
	add(ui.Secret{Source: "adminToken", Name: "admin", Role: ui.Operate, Admin: true}, settings.AdminToken(p.opts.getenv).Value)
	return a
}

// uiKey is the key of a state directory's sessions, read again when its file has changed. Where it cannot be stored, it lasts until the
// program ends.
type uiKey struct {
	path   string
	logger *slog.Logger

	mu   sync.Mutex
	last settings.UIKey
	seen os.FileInfo // of the file that last was read from; nil: of none
	lost bool        // the file could not be read at the last attempt, which was logged
}

func openUIKey(path string, logger *slog.Logger) *uiKey {
	k := &uiKey{path: path, logger: logger}
	key, err := settings.ReadUIKey(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			logger.Warn("cannot read the Task-Hub session key; creating a new one", "err", err)
		}
		key, err = settings.MakeUIKey(path, rand.Reader)
	}
	if err != nil {
		logger.Warn("cannot store the Task-Hub session key; sessions end when openclawd stops, and openclawd open does not work", "err", err)
		key = settings.NewUIKey()
	}
	if key.Exposed {
		logger.Warn("other users of this machine can read the Task-Hub session key and open sessions with it", "file", path, "hint", "chmod 600 "+path)
	}
	k.last = key
	k.seen, _ = os.Stat(path)
	return k
}

// current returns the key in force. Without a file the last one stays in force.
func (k *uiKey) current() settings.UIKey {
	info, err := os.Stat(k.path)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil || k.seen != nil && os.SameFile(info, k.seen) && info.ModTime().Equal(k.seen.ModTime()) && info.Size() == k.seen.Size() {
		return k.last
	}
	key, err := settings.ReadUIKey(k.path)
	if err != nil {
		if !k.lost {
			k.logger.Warn("cannot reread the Task-Hub session key; the last one stays in force", "err", err)
		}
		k.lost = true
		return k.last
	}
	k.last, k.seen, k.lost = key, info, false
	return key
}

// renew makes a new key, which ends all sessions.
func (k *uiKey) renew() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err := settings.MakeUIKey(k.path, rand.Reader)
	if err != nil {
		return err
	}
	k.last = key
	k.seen, _ = os.Stat(k.path)
	return nil
}
