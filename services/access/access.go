// Package access decides which tools an agent has, and which sessions and agents it may reach with them.
package access

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Values of tools.sessions.visibility beside self; each includes the one before. Sessions of other agents also require tools.agentToAgent.
const (
	visibleTree  = "tree"  // the session and its descendants
	visibleAgent = "agent" // all of its agent
	visibleAll   = "all"
)

const (
	maxDepth = 32
	maxTree  = 2_000 // sessions
)

// Guard decides what one session of an agent may see.
type Guard struct {
	config *config.Config
	own    coordination.SessionKey
	agent  string
}

// For returns the guard of an agent's session, under the configuration in force for it.
func For(c *config.Config, own coordination.SessionKey, agent string) *Guard {
	return &Guard{config: c, own: own, agent: agent}
}

// OwnerOf returns the agent of a session; one without an agent belongs to the default agent.
func (g *Guard) OwnerOf(agent string) string {
	if agent == "" {
		return g.config.DefaultAgentID()
	}
	return strings.ToLower(agent)
}

// DenyKey returns why a session may not be seen by its key, whether or not it exists; for "" DenySession decides.
func (g *Guard) DenyKey(key coordination.SessionKey) string {
	owner := g.OwnerOf(key.Agent)
	if key == g.own || owner == g.agent {
		return ""
	}
	return g.denyOther(owner)
}

// denyOther returns why sessions of another agent may not be seen.
func (g *Guard) denyOther(owner string) string {
	if why := hidesOthers(g.config); why != "" {
		return why
	}
	return DenyAgents(g.config.Tools.AgentToAgent, g.agent, owner)
}

// DenySession returns why a session may not be seen, "" if it may.
func (g *Guard) DenySession(ctx context.Context, tx *sql.Tx, one *sessions.Session) (why string, err error) {
	owner := g.OwnerOf(one.Agent)
	switch visibility := g.config.Tools.Visibility; {
	case one.Key == g.own.String():
		return "", nil
	case owner != g.agent:
		return g.denyOther(owner), nil
	case visibility == visibleAgent, visibility == visibleAll:
		return "", nil
	case visibility == visibleTree:
		if spawned, err := g.spawned(ctx, tx, one); spawned || err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("this session is not visible from %s: tools.sessions.visibility is %q", g.own, g.config.Tools.Visibility), nil
}

// spawned reports whether a session descends from the caller's.
func (g *Guard) spawned(ctx context.Context, tx *sql.Tx, one *sessions.Session) (bool, error) {
	own := g.own.String()
	for range maxDepth {
		switch one.Spawner {
		case "":
			return false, nil
		case own:
			return true, nil
		}
		above, err := sessions.ByKey(ctx, tx, one.Spawner)
		if err != nil || above == nil || g.OwnerOf(above.Agent) != g.agent {
			return false, err
		}
		one = above
	}
	return false, nil
}

// List visits the visible sessions that changed since a time in ms, the last changed first, until visit stops.
func (g *Guard) List(ctx context.Context, tx *sql.Tx, since int64, visit func(*sessions.Session) (more bool, err error)) error {
	switch g.config.Tools.Visibility {
	case visibleAll:
		return g.pages(ctx, tx, sessions.Query{Since: since, Global: true}, visit)
	case visibleAgent:
		// Sessions without an agent belong to the default agent, which no query by agent finds.
		q := sessions.Query{Since: since, Global: true}
		if g.agent != g.config.DefaultAgentID() {
			q.Agent = g.agent
		}
		return g.pages(ctx, tx, q, visit)
	}
	return g.tree(ctx, tx, since, visit)
}

// The pages grow, since skipping the first rows has a cost, too.
const (
	firstPage = 200
	maxPage   = 5_000
)

func (g *Guard) pages(ctx context.Context, tx *sql.Tx, q sessions.Query, visit func(*sessions.Session) (bool, error)) error {
	for q.Limit = firstPage; ; q.Offset, q.Limit = q.Offset+q.Limit, min(2*q.Limit, maxPage) {
		list, err := sessions.List(ctx, tx, q)
		if err != nil {
			return err
		}
		for i := range list {
			if why, err := g.DenySession(ctx, tx, &list[i]); err != nil {
				return err
			} else if why != "" {
				continue
			}
			if more, err := visit(&list[i]); !more || err != nil {
				return err
			}
		}
		if len(list) < q.Limit {
			return nil
		}
	}
}
