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

// fault says what is wrong with a part of a request.
type fault struct {
	Code  string   `json:"code,omitempty"`
	Field string   `json:"field"`
	Value string   `json:"value"`
	Mend  string   `json:"mend,omitempty"`
	Known []string `json:"known,omitempty"` // what could stand there
}

// maxEcho is how many characters of what a client sent are said back to it.
const maxEcho = 256

func echo(value string) string { return cutText(value, maxEcho, "…") }

func invalidRequest(message string, details any) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: message, Details: details}
}

// sessionKeyOf is the session that a client means. What begins like a key and is none is refused: it never stands for some session.
func sessionKeyOf(c *config.Config, field, value string) (coordination.SessionKey, error) {
	key, err := readSessionKey(c, field, value)
	return inScope(c, key), err
}

// readSessionKey reads what a client calls a session, as it stands there: the agent that it names need not share a session with others.
func readSessionKey(c *config.Config, field, value string) (coordination.SessionKey, error) {
	if coordination.TrimJS(value) == "" {
		return coordination.SessionKey{}, blankKey(field, value)
	}
	key, err := coordination.SessionKeyOf(value, c.DefaultAgentID())
	return key, malformed(field, value, err)
}

// globalScope is the session.scope in which all agents share one main session, and its key.
const globalScope = "global"

// mainSessionOf is the key of an agent's main session, the one that is meant where none is named.
func mainSessionOf(c *config.Config, agent string) coordination.SessionKey {
	if c.Session.Scope == globalScope {
		return coordination.SessionKey{Kind: coordination.KeyAlias, ID: globalScope}
	}
	return coordination.MainKey(agent)
}

// inScope is the session that a key means with this session.scope.
func inScope(c *config.Config, key coordination.SessionKey) coordination.SessionKey {
	if key.Agent != "" && key == coordination.MainKey(key.Agent) {
		return mainSessionOf(c, key.Agent)
	}
	return key
}

func blankKey(field, value string) error {
	return invalidRequest(field+" required", fault{Field: field, Value: value, Mend: "name a session, e.g. main"})
}

func malformed(field, value string, err error) error {
	why, ok := errors.AsType[*coordination.SessionKeyError](err)
	if !ok {
		return err
	}
	value = echo(value)
	mend := why.Mend
	if why.Field != "key" {
		mend = why.Field + ": " + mend // which part of the key
	}
	return invalidRequest(fmt.Sprintf("malformed session key %q", value), fault{Field: field, Value: value, Mend: mend})
}

// keyAsked reads what a client calls a session. agent, which clients of protocol 4 may name, is whose session a bare name means.
func keyAsked(c *config.Config, field, value, agent string) (coordination.SessionKey, error) {
	agent = strings.ToLower(coordination.TrimJS(agent))
	switch {
	case agent == "":
		return sessionKeyOf(c, field, value)
	case coordination.NormalizeAgentID(agent) != agent:
		return coordination.SessionKey{}, invalidRequest(fmt.Sprintf("invalid agent id %q", echo(agent)),
			fault{Field: "agentId", Value: echo(agent), Mend: "use a-z, 0-9, _ and -, with a letter or digit first, at most 64"})
	case coordination.TrimJS(value) == "":
		return coordination.SessionKey{}, blankKey(field, value)
	}
	key, err := coordination.SessionKeyOf(value, agent)
	if err == nil && key.Agent != "" && key.Agent != agent {
		return key, invalidRequest(fmt.Sprintf("agent %q does not match session key agent %q", agent, key.Agent),
			fault{Field: "agentId", Value: agent, Mend: "name the session's own agent, or leave agentId out"})
	}
	return inScope(c, key), malformed(field, value, err)
}

// spawnerOf is the whole key of the session that a client calls a spawner, "" if it names none.
func spawnerOf(c *config.Config, value string) (string, error) {
	if coordination.TrimJS(value) == "" {
		return "", nil
	}
	key, err := sessionKeyOf(c, "spawnedBy", value)
	return key.String(), err
}

// agentOf is the agent whose session a key names; those that name none are the default agent's.
func agentOf(c *config.Config, key coordination.SessionKey) string {
	if key.Agent == "" {
		return c.DefaultAgentID()
	}
	return key.Agent
}

// mayHaveSessions is an error for an agent that is not configured, so that a slip of the pen founds no session. Where no other agent than
// main is configured, nobody has said who there is, and any agent may have one.
func mayHaveSessions(c *config.Config, field, agent string) error {
	known := []string{}
	for _, a := range c.Agents {
		known = append(known, strings.ToLower(a.ID))
	}
	if slices.Contains(known, agent) || !slices.ContainsFunc(known, func(id string) bool { return id != "main" }) {
		return nil
	}
	return invalidRequest(fmt.Sprintf("unknown agent id %q", agent), fault{Field: field, Value: agent, Mend: "name one of agents.list", Known: known})
}
