package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// capabilities that newer clients check before they use more.
var capabilities = []string{"published-model-catalog"}

// greeting builds hello-ok. What is common to clients connecting at the same time is built once.
type greeting struct {
	hub     *Hub
	started time.Time

	mu       sync.Mutex
	until    time.Time         // the common part is valid until then
	snapshot protocol.Snapshot // with placeholders for the two large parts
	features protocol.Features
	presence []byte
	health   []byte
	version  protocol.StateVersion // versions of both, or earlier ones
}

// Placeholders for parts that are already JSON, inserted without parsing them: with many clients, parsing would be
// most of the cost of connecting.
var (
	presencePlace = json.RawMessage(`"@presence"`)
	healthPlace   = json.RawMessage(`"@health"`)
)

// to returns the hello-ok for a peer.
func (g *greeting) to(c *client, p *Peer, d *activeAccess, how method) (json.RawMessage, error) {
	hello, presence, health, err := g.common(c)
	if err != nil {
		return nil, err
	}
	hello.Protocol = p.Protocol
	hello.Server = protocol.ServerInfo{Version: g.hub.opts.Version, ConnID: p.ConnID}
	hello.Snapshot.AuthMode = d.Mode
	if !protocol.Covers(p.Scopes, protocol.ScopeAdmin) {
		hello.Snapshot.ConfigPath, hello.Snapshot.StateDir, hello.Snapshot.AuthMode = "", "", ""
	}
	if p.Role == protocol.RoleWorker { // it learns nothing of the team
		hello.Snapshot.SessionDefaults, hello.Features = protocol.SessionDefaults{}, protocol.Features{Methods: []string{}, Events: []string{"tick", "shutdown"}}
		presence, health = []byte("[]"), []byte("{}")
	}
	hello.Auth = protocol.HelloAuth{Method: string(how), Role: p.Role, Scopes: p.Scopes}
	if p.DeviceID != "" {
		now := g.hub.opts.Now()
		hello.Auth.DeviceToken, hello.Auth.IssuedAtMs = d.tokens.Issue(p.DeviceID, p.Role, p.Scopes, now), now.UnixMilli()
	}
	text, err := hello.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return fill(text, presence, health), nil
}

// fill inserts the encoded parts. Placeholders are located before anything is inserted, since client names are part of
// the text.
func fill(text, presence, health []byte) []byte {
	before, rest, _ := bytes.Cut(text, presencePlace)
	between, after, _ := bytes.Cut(rest, healthPlace)
	return slices.Concat(before, presence, between, health, after)
}

func (g *greeting) common(c *client) (hello protocol.HelloOK, presence, health []byte, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); !now.Before(g.until) {
		if err := g.refresh(c); err != nil {
			return hello, nil, nil, err
		}
		g.until = now.Add(g.hub.opts.GreetingAge)
	}
	hello = protocol.HelloOK{Features: g.features, Snapshot: g.snapshot}
	hello.Snapshot.StateVersion = g.version
	hello.Snapshot.UptimeMs = max(0, g.hub.opts.Now().Sub(g.started).Milliseconds())
	return hello, g.presence, g.health, nil
}

// refresh reads the state. Its version is read first: concurrent changes are sent as events with a higher version.
func (g *greeting) refresh(c *client) error {
	g.version = g.hub.versions()
	s, err := g.hub.methods.Snapshot(c.ctx)
	if err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	if g.presence, err = json.Marshal(g.hub.presence.list()); err != nil {
		return fmt.Errorf("encode presence: %w", err)
	}
	if g.health = s.Health; !json.Valid(g.health) {
		return errors.New("health is not valid JSON")
	}
	methods, events := g.hub.methods.Names()
	g.features = protocol.Features{Methods: methods, Events: events, Capabilities: capabilities}
	g.snapshot = protocol.Snapshot{Presence: presencePlace, Health: healthPlace, ConfigPath: s.ConfigPath, StateDir: s.StateDir,
		SessionDefaults: s.SessionDefaults}
	return nil
}
