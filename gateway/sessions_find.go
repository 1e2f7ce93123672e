package gateway

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

type resolveParams struct {
	Key       string `json:"key"`
	SessionID string `json:"sessionId"`
	Label     string `json:"label"`
	Agent     string `json:"agentId"`
	SpawnedBy string `json:"spawnedBy"`
	Global    bool   `json:"includeGlobal"`
	Unknown   bool   `json:"includeUnknown"`
}

type resolveAnswer struct {
	OK      bool   `json:"ok"`
	Key     string `json:"key"`
	AgentID string `json:"agentId,omitempty"` // protocol 4
}

func (s *Server) resolveSession(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[resolveParams](call)
	if err != nil {
		return nil, err
	}
	named := 0
	for _, name := range []*string{&p.Key, &p.SessionID, &p.Label} {
		if *name = coordination.TrimJS(*name); *name != "" {
			named++
		}
	}
	switch {
	case named == 0:
		return nil, invalidRequest("Either key, sessionId, or label is required", nil)
	case named > 1:
		return nil, invalidRequest("Provide either key, sessionId, or label (not multiple)", nil)
	}
	c := s.opts.Configuration.InForce()
	if p.SpawnedBy, err = spawnerOf(c, p.SpawnedBy); err != nil {
		return nil, err
	}
	one, err := s.sessionMeant(ctx, c, &p)
	if err != nil {
		return nil, err
	}
	a := resolveAnswer{OK: true, Key: one.Key}
	if call.Peer.Protocol >= protocol.SinceOwners {
		a.AgentID = ownerOf(c, one)
	}
	return a, nil
}

func (s *Server) sessionMeant(ctx context.Context, c *config.Config, p *resolveParams) (*sessions.Session, error) {
	if p.Key != "" {
		key, err := keyAsked(c, "key", p.Key, p.Agent)
		if err != nil {
			return nil, err
		}
		one, err := s.sessionByKey(ctx, key)
		if err == nil && one == nil {
			err = invalidRequest("No session found: "+echo(p.Key), nil)
		}
		return one, err
	}
	var found []sessions.Session
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if p.SessionID == "" {
			found, err = sessions.ByLabel(ctx, tx, p.Label, strings.ToLower(coordination.TrimJS(p.Agent)))
			return err
		}
		one, err := sessions.ByID(ctx, tx, p.SessionID)
		if one != nil {
			found = []sessions.Session{*one}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	meant := found[:0]
	for _, one := range found {
		if p.means(ownerOf(c, &one), &one) {
			meant = append(meant, one)
		}
	}
	what := ": " + echo(p.SessionID)
	if p.Label != "" {
		what = " with label: " + p.Label
	}
	switch len(meant) {
	case 0:
		return nil, invalidRequest("No session found"+what, nil)
	case 1:
		return &meant[0], nil
	}
	keys := make([]string, len(meant))
	for i := range meant {
		keys[i] = meant[i].Key
	}
	return nil, invalidRequest(fmt.Sprintf("Multiple sessions found%s (%s)", what, strings.Join(keys, ", ")), nil)
}

// means reports whether a session with the requested name passes the request's filters.
func (p *resolveParams) means(owner string, one *sessions.Session) bool {
	agent := coordination.TrimJS(p.Agent)
	return (agent == "" || strings.EqualFold(agent, owner)) &&
		(p.SpawnedBy == "" || p.SpawnedBy == one.Spawner) &&
		(one.Key != "global" || p.Global) && (one.Key != "unknown" || p.Unknown)
}

func (s *Server) sessionByKey(ctx context.Context, key coordination.SessionKey) (one *sessions.Session, err error) {
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		one, err = sessions.ByKey(ctx, tx, key.String())
		return err
	})
	return one, err
}

type describeAnswer struct {
	Session *sessionRow `json:"session"` // null if there is none
}

// describeSession returns one session's row. Clients of protocol 4 request it after each turn.
func (s *Server) describeSession(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Key         string `json:"key"`
		Agent       string `json:"agentId"`
		Titles      bool   `json:"includeDerivedTitles"`
		LastMessage bool   `json:"includeLastMessage"`
	}](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	key, err := keyAsked(c, "key", p.Key, p.Agent)
	if err != nil {
		return nil, err
	}
	var one *sessions.Session
	var queues map[string]*sessionQueue
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		if one, err = sessions.ByKey(ctx, tx, key.String()); err != nil || one == nil {
			return err
		}
		idle, err := s.isIdle(ctx, tx)
		if err == nil && !idle {
			queues, err = s.queues(ctx, tx, []string{one.Key})
		}
		return err
	})
	if err != nil || one == nil {
		return describeAnswer{}, err
	}
	row := rowOf(c, one, call.Peer.Protocol)
	row.Queue = queues[one.Key]
	if p.Titles {
		row.DerivedTitle = derivedTitle(&row, one)
	}
	if p.LastMessage {
		row.LastMessage = one.LastText
	}
	return describeAnswer{&row}, nil
}
