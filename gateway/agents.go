package gateway

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
)

// agentMethods describe the agents and their files and models, as configured.
func (s *Server) agentMethods() map[string]answer {
	return map[string]answer{
		"agents.list":        s.answerAgents,
		"agent.identity.get": s.answerIdentity,
		"models.list":        s.answerModels,
		"agents.files.list":  s.answerFiles,
		"agents.files.get":   s.answerFile,
		"agents.files.set":   s.writeFile,
		"skills.status":      s.answerSkills,
	}
}

// agentsOf returns the configured agents, with ids as in session keys, or main if none is configured.
func agentsOf(c *config.Config) []config.Agent {
	if len(c.Agents) == 0 {
		return []config.Agent{{ID: c.DefaultAgentID()}}
	}
	agents := make([]config.Agent, 0, len(c.Agents))
	for _, a := range c.Agents {
		a.ID = strings.ToLower(a.ID)
		agents = append(agents, a)
	}
	return agents
}

// greetingDefaults say which session is used if a request names none.
func greetingDefaults(c *config.Config) protocol.SessionDefaults {
	agent := c.DefaultAgentID()
	return protocol.SessionDefaults{DefaultAgentID: agent, MainKey: coordination.DefaultMainKey, MainSessionKey: mainSessionOf(c, agent).String(),
		Scope: c.Session.Scope}
}

type agentsAnswer struct {
	DefaultID string      `json:"defaultId"`
	MainKey   string      `json:"mainKey"`
	Scope     string      `json:"scope"`
	Agents    []agentInfo `json:"agents"`
}

type agentInfo struct {
	ID       string         `json:"id"`
	Name     string         `json:"name,omitempty"`
	Identity *agentIdentity `json:"identity,omitempty"`

	// Of protocol 4.
	Workspace string       `json:"workspace,omitempty"`
	Model     *agentModels `json:"model,omitempty"` // without it a page assumes that the agent cannot be messaged

	Sandbox *sandboxes.State `json:"sandbox,omitempty"` // openclawd's own, likewise
}

// agentModels are an agent's models: the primary one, then the fallbacks in order.
type agentModels struct {
	Primary   string   `json:"primary"`
	Fallbacks []string `json:"fallbacks"`
}

type agentIdentity struct {
	Name   string `json:"name,omitempty"`
	Theme  string `json:"theme,omitempty"`
	Emoji  string `json:"emoji,omitempty"`
	Avatar string `json:"avatar,omitempty"`
	URL    string `json:"avatarUrl,omitempty"` // protocol 4, if the gateway serves the Control UI
}

func (s *Server) answerAgents(ctx context.Context, call *wire.Call) (any, error) {
	c := s.opts.Configuration.InForce()
	usual := greetingDefaults(c)
	a := &agentsAnswer{DefaultID: usual.DefaultAgentID, MainKey: usual.MainKey, Scope: usual.Scope}
	var probes []sandboxes.Probe
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		probes, err = sandboxes.Last(ctx, tx, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	kept := sandboxes.States(probes)
	for _, agent := range agentsOf(c) {
		one := agentInfo{ID: agent.ID, Name: agent.Name}
		if i := agent.Identity; i != (config.Identity{}) {
			one.Identity = &agentIdentity{Name: i.Name, Theme: i.Theme, Emoji: i.Emoji, Avatar: i.Avatar}
		}
		if call.Peer.Protocol >= protocol.SinceOwners {
			choice := c.ModelFor(agent.ID)
			if one.Identity != nil {
				one.Identity.URL = s.pictureAt(c, agent.ID)
			}
			one.Workspace, one.Model = s.workspaceOf(agent.ID), &agentModels{choice.Primary, append([]string{}, choice.Fallbacks...)}
			state := sandboxes.StateOf(kept, agent.ID)
			one.Sandbox = &state
		}
		a.Agents = append(a.Agents, one)
	}
	return encoded(a)
}

// workspaceOf returns an agent's workspace directory, "" if it has none.
func (s *Server) workspaceOf(agentID string) string {
	if s.opts.Workspace == nil {
		return ""
	}
	return s.opts.Workspace(agentID)
}

type identityAnswer struct {
	AgentID string `json:"agentId"`
	Name    string `json:"name"`
	Avatar  string `json:"avatar"` // a letter, an emoji, or an address
	Emoji   string `json:"emoji,omitempty"`
}

func (s *Server) answerIdentity(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		AgentID    string `json:"agentId"`
		SessionKey string `json:"sessionKey"`
	}](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	id, err := agentMeant(c, call.Method, p.AgentID, p.SessionKey)
	if err != nil {
		return nil, err
	}
	if err := mayHaveSessions(c, "agentId", id); err != nil {
		return nil, err
	}
	return encoded(s.identityOf(c, id))
}

func (s *Server) identityOf(c *config.Config, id string) *identityAnswer {
	const nameless = "Assistant"
	a := &identityAnswer{AgentID: id, Name: nameless}
	if agent := c.AgentNamed(id); agent != nil {
		a.Name, a.Emoji = cmp.Or(agent.Identity.Name, agent.Name, nameless), agent.Identity.Emoji
		if isAddress(agent.Identity.Avatar) || isSign(agent.Identity.Avatar) {
			a.Avatar = agent.Identity.Avatar
		}
	}
	a.Avatar = cmp.Or(a.Avatar, s.pictureAt(c, id), a.Emoji, initial(a.Name))
	return a
}

// agentAsked returns the agent with an id, the default agent for "".
func agentAsked(c *config.Config, agentID string) (string, error) {
	id := cmp.Or(strings.ToLower(coordination.TrimJS(agentID)), c.DefaultAgentID())
	return id, mayHaveSessions(c, "agentId", id)
}

// agentMeant returns the agent a request names by id, by a session key, or both; the default agent if it names none.
// The agent need not be configured.
func agentMeant(c *config.Config, method, agentID, sessionKey string) (string, error) {
	id := strings.ToLower(coordination.TrimJS(agentID))
	if coordination.TrimJS(sessionKey) != "" {
		key, err := readSessionKey(c, "sessionKey", sessionKey)
		if err != nil {
			return "", ofParams(method, err)
		}
		owner := agentOf(c, key)
		if id != "" && id != owner {
			return "", invalidRequest(fmt.Sprintf("invalid %s params: agent %q does not match session key agent %q", method, id, owner),
				fault{Field: "agentId", Value: agentID, Hint: "name the session's own agent, or leave agentId out"})
		}
		id = owner
	}
	return cmp.Or(id, c.DefaultAgentID()), nil
}

// ofParams adds that the error lies in a method's parameters.
func ofParams(method string, err error) error {
	refused, ok := errors.AsType[*protocol.Error](err)
	if !ok {
		return err
	}
	named := *refused
	named.Message = "invalid " + method + " params: " + refused.Message
	return &named
}

// isAddress reports whether a page can show the avatar. A path within the workspace only works if the gateway serves
// the page.
func isAddress(avatar string) bool {
	return config.IsServer(avatar) || strings.HasPrefix(avatar, "data:image/")
}

// isSign reports whether an avatar is a letter or an emoji, which may consist of several code points.
func isSign(avatar string) bool {
	const longest = 8
	return len([]rune(avatar)) <= longest && !strings.ContainsAny(avatar, "./\\")
}

func initial(name string) string {
	for _, r := range name {
		return string(unicode.ToUpper(r))
	}
	return ""
}
