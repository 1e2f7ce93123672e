package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/gateway/rest"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Catalogue is an optional interface of a tool.Box that lists all tools, callable by the caller or not.
type Catalogue interface {
	Catalogue(c tool.Caller) []tool.Spec
}

func (s *Server) toolMethods() map[string]answer {
	methods := map[string]answer{"tools.catalog": s.answerTools}
	if s.opts.Tools != nil {
		methods["tools.effective"] = s.answerEffective
		methods["tools.invoke"] = s.invokeTool
	}
	return methods
}

// Values that are the same for all tools: they are built in, and the only profile contains them all.
const (
	sourceCore  = "core"
	profileFull = "full"
)

type toolsAnswer struct {
	AgentID  string        `json:"agentId"`
	Profiles []toolProfile `json:"profiles"`
	Groups   []*toolGroup  `json:"groups"`
}

type toolProfile struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

type toolGroup struct {
	ID     string     `json:"id"`
	Label  string     `json:"label"`
	Source string     `json:"source"`
	Tools  []toolInfo `json:"tools"`
}

type toolInfo struct {
	ID             string   `json:"id"`
	Label          string   `json:"label"`
	Description    string   `json:"description"`
	RawDescription *string  `json:"rawDescription,omitempty"` // tools.effective only
	Source         string   `json:"source"`
	Profiles       []string `json:"defaultProfiles,omitempty"` // tools.catalog only

	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // tools.effective, an extension of the original
}

func toolInfoOf(t *tool.Spec) toolInfo {
	return toolInfo{ID: t.Name, Label: cmp.Or(t.Label, t.Name), Description: t.Description, Source: sourceCore}
}

func (s *Server) answerTools(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		AgentID string `json:"agentId"`
	}](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	id, err := agentAsked(c, p.AgentID)
	if err != nil {
		return nil, err
	}
	a := &toolsAnswer{AgentID: id, Profiles: []toolProfile{}, Groups: []*toolGroup{}}
	if s.opts.Tools == nil {
		return a, nil
	}
	a.Profiles = append(a.Profiles, toolProfile{profileFull, "Full"})
	caller := callerOf(call.Peer, id, mainSessionOf(c, id))
	var all []tool.Spec
	if whole, ok := s.opts.Tools.(Catalogue); ok {
		all = whole.Catalogue(caller)
	} else {
		all = s.opts.Tools.Offer(caller)
	}
	for i := range all {
		one := toolInfoOf(&all[i])
		one.Profiles = []string{profileFull}
		group := a.group(cmp.Or(all[i].Group, sourceCore))
		group.Tools = append(group.Tools, one)
	}
	return encoded(a)
}

// group returns a group, created on first use, so that groups are in the order of their first tools.
func (a *toolsAnswer) group(id string) *toolGroup {
	if i := slices.IndexFunc(a.Groups, func(g *toolGroup) bool { return g.ID == id }); i >= 0 {
		return a.Groups[i]
	}
	g := &toolGroup{ID: id, Label: tool.GroupLabel(id), Source: sourceCore}
	a.Groups = append(a.Groups, g)
	return g
}

// callerOf is the caller of a client's tool call: a session of an agent.
func callerOf(p *wire.Peer, agent string, key coordination.SessionKey) tool.Caller {
	return tool.Caller{Entry: tool.ByWire, AgentID: agent, SessionKey: key.String(), By: cmp.Or(p.Client.DisplayName, p.Client.ID)}
}

// sessionAsked resolves a session from a key, an agent id (its main session), or both.
func (s *Server) sessionAsked(method, agentID, sessionKey string) (agent string, key coordination.SessionKey, err error) {
	c := s.opts.Configuration.InForce()
	if coordination.TrimJS(sessionKey) == "" {
		if agent, err = agentAsked(c, agentID); err != nil {
			return "", key, ofParams(method, err)
		}
		return agent, mainSessionOf(c, agent), nil
	}
	if key, err = keyAsked(c, "sessionKey", sessionKey, agentID); err == nil {
		agent = agentOf(c, key)
		if key.Agent == "" && coordination.TrimJS(agentID) != "" {
			agent = strings.ToLower(coordination.TrimJS(agentID)) // whose part of a shared session is meant
		}
		err = mayHaveSessions(c, "sessionKey", agent)
	}
	return agent, key, ofParams(method, err)
}

type effectiveAnswer struct {
	AgentID string       `json:"agentId"`
	Profile string       `json:"profile"`
	Groups  []*toolGroup `json:"groups"`
}

// answerEffective answers tools.effective with the tools an agent is offered in a session.
func (s *Server) answerEffective(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		AgentID    string `json:"agentId"`
		SessionKey string `json:"sessionKey"`
	}](call)
	if err != nil {
		return nil, err
	}
	agent, key, err := s.sessionAsked(call.Method, p.AgentID, p.SessionKey)
	if err != nil {
		return nil, err
	}
	profile, _ := s.opts.Configuration.InForce().ToolProfile(agent)
	a := &effectiveAnswer{AgentID: agent, Profile: profile, Groups: []*toolGroup{}}
	offered := s.opts.Tools.Offer(tool.Caller{Entry: tool.ByRun, AgentID: agent, SessionKey: key.String()})
	if len(offered) == 0 {
		return encoded(a)
	}
	group := &toolGroup{ID: sourceCore, Label: "Built-in tools", Source: sourceCore}
	for i := range offered {
		one := toolInfoOf(&offered[i])
		one.RawDescription, one.InputSchema = &offered[i].Description, offered[i].Schema
		group.Tools = append(group.Tools, one)
	}
	a.Groups = append(a.Groups, group)
	return encoded(a)
}

// invokeAnswer answers tools.invoke. A tool that was not called or failed is an answer; only an invalid request is an
// error.
type invokeAnswer struct {
	OK       bool           `json:"ok"`
	ToolName string         `json:"toolName"`
	Output   *rest.Result   `json:"output,omitempty"`
	Source   string         `json:"source,omitempty"`
	Error    *invokeFailure `json:"error,omitempty"`
}

type invokeFailure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details *fault `json:"details,omitempty"`
}

func (s *Server) invokeTool(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Name           string          `json:"name"`
		Args           json.RawMessage `json:"args"`
		AgentID        string          `json:"agentId"`
		SessionKey     string          `json:"sessionKey"`
		IdempotencyKey string          `json:"idempotencyKey"`
	}](call)
	if err != nil {
		return nil, err
	}
	agent, key, err := s.sessionAsked(call.Method, p.AgentID, p.SessionKey)
	if err != nil {
		return nil, err
	}
	if len(p.Args) == 0 {
		p.Args = json.RawMessage("{}")
	}
	caller := callerOf(call.Peer, agent, key)
	caller.CallID = p.IdempotencyKey
	output, err := s.tools.Call(ctx, caller, p.Name, p.Args)
	if err == nil {
		return encoded(&invokeAnswer{OK: true, ToolName: p.Name, Output: rest.ResultOf(output), Source: sourceCore})
	}
	e, known := errors.AsType[*tool.Error](err)
	if !known {
		return nil, err
	}
	failure := &invokeFailure{Code: "tool_error", Message: rest.BrokenTool}
	switch e.Code {
	case tool.CodeUnknown:
		failure = &invokeFailure{Code: "not_found", Message: rest.NoTool(p.Name)}
	case tool.CodeBroken:
	default:
		failure = &invokeFailure{Code: e.Code, Message: e.Text, Details: &fault{Field: e.Field, Hint: e.Hint}}
	}
	return encoded(&invokeAnswer{ToolName: p.Name, Error: failure})
}
