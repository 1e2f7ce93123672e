// Package access decides which sessions and agents an agent may reach with its tools: one judgement for all of them.
package access

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/tools"
)

// Values of tools.sessions.visibility, each of which shows what those before it do. What another agent's sessions are takes
// tools.agentToAgent besides.
const (
	visibleSelf  = "self"  // the session itself
	visibleTree  = "tree"  // and those that it has spawned, and they
	visibleAgent = "agent" // all of its agent
	visibleAll   = "all"
)

// Bounds of trees of sessions.
const (
	maxDepth = 32
	maxTree  = 2_000 // sessions
)

// Guard judges for one call of a tool.
type Guard struct {
	config *config.Config
	own    coordination.SessionKey
	agent  string
}

// For is the guard of a call.
func For(call *tools.Call) *Guard {
	return &Guard{config: call.Config, own: call.Session, agent: call.AgentID}
}

// OwnerOf is the agent whose session it is; a session of nobody is the default agent's.
func (g *Guard) OwnerOf(agent string) string {
	if agent == "" {
		return g.config.DefaultAgentID()
	}
	return strings.ToLower(agent)
}

// DenyKey says why nothing of a session may be seen that is called by its key, whether or not there is one; "" is no reason, which DenySession
// may still have.
func (g *Guard) DenyKey(key coordination.SessionKey) string {
	owner := g.OwnerOf(key.Agent)
	if key == g.own || owner == g.agent {
		return ""
	}
	return g.denyOther(owner)
}

// denyOther says why sessions of another agent may not be seen.
func (g *Guard) denyOther(owner string) string {
	if g.config.Tools.Visibility != visibleAll {
		return fmt.Sprintf("sessions of other agents are not visible: tools.sessions.visibility is %q, it has to be %q for that",
			g.config.Tools.Visibility, visibleAll)
	}
	return DenyAgents(g.config.Tools.AgentToAgent, g.agent, owner)
}

// DenySession says why a session may not be seen, "" if it may be.
func (g *Guard) DenySession(ctx context.Context, tx *sql.Tx, one *session.Session) (why string, err error) {
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

// spawned reports whether a session comes from the caller's.
func (g *Guard) spawned(ctx context.Context, tx *sql.Tx, one *session.Session) (bool, error) {
	own := g.own.String()
	for range maxDepth {
		switch one.Spawner {
		case "":
			return false, nil
		case own:
			return true, nil
		}
		above, err := session.ByKey(ctx, tx, one.Spawner)
		if err != nil || above == nil || g.OwnerOf(above.Agent) != g.agent {
			return false, err
		}
		one = above
	}
	return false, nil
}

// List lists the sessions that may be seen and have changed since a time in ms, the last changed first, until visit has enough.
func (g *Guard) List(ctx context.Context, tx *sql.Tx, since int64, visit func(*session.Session) (more bool, err error)) error {
	switch g.config.Tools.Visibility {
	case visibleAll:
		return g.pages(ctx, tx, session.Query{Since: since, Global: true}, visit)
	case visibleAgent:
		// Those of no agent are the default agent's, which no query by agent finds.
		q := session.Query{Since: since, Global: true}
		if g.agent != g.config.DefaultAgentID() {
			q.Agent = g.agent
		}
		return g.pages(ctx, tx, q, visit)
	}
	return g.tree(ctx, tx, since, visit)
}

// Pages are how many sessions are read at a time: more and more, for to pass over the first ones costs, too.
const (
	firstPage = 200
	maxPage   = 5_000
)

func (g *Guard) pages(ctx context.Context, tx *sql.Tx, q session.Query, visit func(*session.Session) (bool, error)) error {
	for q.Limit = firstPage; ; q.Offset, q.Limit = q.Offset+q.Limit, min(2*q.Limit, maxPage) {
		list, err := session.List(ctx, tx, q)
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
