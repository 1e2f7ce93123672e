package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

type fault struct {
	Code  string   `json:"code,omitempty"`
	Field string   `json:"field"`
	Value string   `json:"value"`
	Hint  string   `json:"hint,omitempty"`
	Known []string `json:"known,omitempty"` // allowed values
}

const maxEcho = 256

func echo(value string) string { return cutText(value, maxEcho, "…") }

func invalidRequest(message string, details any) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: message, Details: details}
}

// sessionKeyOf resolves a client's session. A malformed key is refused: it never falls back to another session.
func sessionKeyOf(c *config.Config, field, value string) (coordination.SessionKey, error) {
	key, err := readSessionKey(c, field, value)
	return inScope(c, key), err
}

// readSessionKey parses a client's session as it is written, before session.scope is applied.
func readSessionKey(c *config.Config, field, value string) (coordination.SessionKey, error) {
	if coordination.TrimJS(value) == "" {
		return coordination.SessionKey{}, blankKey(field, value)
	}
	key, err := coordination.SessionKeyOf(value, c.DefaultAgentID())
	return key, malformed(field, value, err)
}

// globalScope is the session.scope in which all agents share one main session, and its key.
const globalScope = "global"

// mainSessionOf is the key of an agent's main session, used if a request names none.
func mainSessionOf(c *config.Config, agent string) coordination.SessionKey {
	if c.Session.Scope == globalScope {
		return coordination.SessionKey{Kind: coordination.KeyAlias, ID: globalScope}
	}
	return coordination.MainKey(agent)
}

// inScope applies session.scope to a key.
func inScope(c *config.Config, key coordination.SessionKey) coordination.SessionKey {
	if key.Agent != "" && key == coordination.MainKey(key.Agent) {
		return mainSessionOf(c, key.Agent)
	}
	return key
}

func blankKey(field, value string) error {
	return invalidRequest(field+" required", fault{Field: field, Value: value, Hint: "name a session, e.g. main"})
}

func malformed(field, value string, err error) error {
	why, ok := errors.AsType[*coordination.SessionKeyError](err)
	if !ok {
		return err
	}
	value = echo(value)
	hint := why.Hint
	if why.Field != "key" {
		hint = why.Field + ": " + hint // which part of the key
	}
	return invalidRequest(fmt.Sprintf("malformed session key %q", value), fault{Field: field, Value: value, Hint: hint})
}

// keyAsked resolves a client's session. agent, which clients of protocol 4 may give, owns the session of a bare name.
func keyAsked(c *config.Config, field, value, agent string) (coordination.SessionKey, error) {
	agent = strings.ToLower(coordination.TrimJS(agent))
	switch {
	case agent == "":
		return sessionKeyOf(c, field, value)
	case coordination.NormalizeAgentID(agent) != agent:
		return coordination.SessionKey{}, invalidRequest(fmt.Sprintf("invalid agent id %q", echo(agent)),
			fault{Field: "agentId", Value: echo(agent), Hint: "use a-z, 0-9, _ and -, with a letter or digit first, at most 64"})
	case coordination.TrimJS(value) == "":
		return coordination.SessionKey{}, blankKey(field, value)
	}
	key, err := coordination.SessionKeyOf(value, agent)
	if err == nil && key.Agent != "" && key.Agent != agent {
		return key, invalidRequest(fmt.Sprintf("agent %q does not match session key agent %q", agent, key.Agent),
			fault{Field: "agentId", Value: agent, Hint: "name the session's own agent, or leave agentId out"})
	}
	return inScope(c, key), malformed(field, value, err)
}

// spawnerOf is the full key of the session a client names as spawner, "" if none.
func spawnerOf(c *config.Config, value string) (string, error) {
	if coordination.TrimJS(value) == "" {
		return "", nil
	}
	key, err := sessionKeyOf(c, "spawnedBy", value)
	return key.String(), err
}

// agentOf returns the agent that owns a session; the default agent if the key names none.
func agentOf(c *config.Config, key coordination.SessionKey) string {
	if key.Agent == "" {
		return c.DefaultAgentID()
	}
	return key.Agent
}

// mayHaveSessions refuses an agent that is not configured, so that a typing error creates no session. If only main is
// configured, any agent may have sessions.
func mayHaveSessions(c *config.Config, field, agent string) error {
	known := []string{}
	for _, a := range c.Agents {
		known = append(known, strings.ToLower(a.ID))
	}
	if slices.Contains(known, agent) || !slices.ContainsFunc(known, func(id string) bool { return id != "main" }) {
		return nil
	}
	return invalidRequest(fmt.Sprintf("unknown agent id %q", agent), fault{Field: field, Value: agent, Hint: "name one from agents.list", Known: known})
}
