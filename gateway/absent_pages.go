package gateway

import (
	"context"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// absentPages are the methods that pages of the Control UI call first for features openclawd does not have. They
// return empty results; methods that would change something there stay unknown.
func (s *Server) absentPages() map[string]answer {
	none := func(name string) answer { return nothing(map[string]any{name: []any{}}) }
	return map[string]answer{
		"transcripts.list":           nothing(map[string]any{"sessions": []any{}, "nextCursor": nil}),
		"transcripts.status":         nothing(map[string]any{"enabled": false, "providers": []any{}}),
		"environments.list":          none("environments"),
		"worktrees.list":             none("worktrees"),
		"projects.list":              none("projects"),
		"portal.list":                none("portals"),
		"terminal.list":              none("sessions"),
		"artifacts.list":             none("artifacts"),
		"secrets.store.list":         none("entries"),
		"plugins.list":               nothing(map[string]any{"plugins": []any{}, "diagnostics": []any{}, "mutationAllowed": false}),
		"plugins.catalog.browse":     none("items"),
		"plugins.catalog.categories": none("categories"),
		"skills.search":              none("results"),
		"skills.library.list": nothing(map[string]any{"entries": []any{}, "profileId": nil, "multipleProfiles": false, "defaultTarget": "unavailable",
			"canManageWorkspace": false, "defaultSelectionLimit": 0}),
		"skills.proposals.list": s.answerProposals,
		"talk.catalog": nothing(map[string]any{"modes": []any{}, "transports": []any{}, "brains": []any{}, "speech": map[string]any{"providers": []any{}},
			"transcription": map[string]any{"providers": []any{}}, "realtime": map[string]any{"providers": []any{}}}),
		"themes.list": nothing(map[string]any{"themes": []any{}, "current": map[string]any{"id": "claw", "mode": "system", "scope": "gateway",
			"overrides": struct{}{}}}),
		"taskSuggestions.list":         none("suggestions"),
		"progressCard.get":             nothing(map[string]any{"card": nil}),
		"sessions.branches.list":       none("branches"),
		"sessions.compaction.list":     none("checkpoints"),
		"sessions.companion.state":     none("exchanges"),
		"sessions.observer.visibility": nothing(map[string]bool{"ok": true}),
		"doctor.memory.status":         s.answerMemory,
		"migrations.memory.plan":       s.answerMigrations,
		"tools.github.status":          s.answerGitHub,
		"webSearch.status":             s.answerWebSearch,
	}
}

// forAgent answers for the agent a request names, or the default agent.
func (s *Server) forAgent(call *wire.Call) (string, error) {
	p, err := paramsOf[struct {
		Agent string `json:"agentId"`
	}](call)
	if err != nil {
		return "", err
	}
	return agentAsked(s.opts.Configuration.InForce(), p.Agent)
}

func (s *Server) answerProposals(context.Context, *wire.Call) (any, error) {
	return map[string]any{"schema": "openclaw.skill-workshop.proposals-manifest.v1", "updatedAt": s.opts.StartedAt.UTC().Format(time.RFC3339),
		"proposals": []any{}, "installedSkills": []any{}}, nil
}

// answerMemory answers doctor.memory.status. openclawd has no vector search over memory; agents remember through their
// files and the log.
func (s *Server) answerMemory(_ context.Context, call *wire.Call) (any, error) {
	id, err := s.forAgent(call)
	if err != nil {
		return nil, err
	}
	return map[string]any{"agentId": id, "searchRuntimeRegistered": false,
		"embedding": map[string]any{"ok": false, "error": "openclawd stores no vectors: agents remember through their files and the log"}}, nil
}

func (s *Server) answerMigrations(_ context.Context, call *wire.Call) (any, error) {
	id, err := s.forAgent(call)
	if err != nil {
		return nil, err
	}
	return map[string]any{"agentId": id, "workspace": s.workspaceOf(id), "providers": []any{}}, nil
}

// answerGitHub answers tools.github.status: openclawd stores no GitHub identity.
func (s *Server) answerGitHub(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Scope string `json:"selectedScope"`
	}](call)
	if err != nil {
		return nil, err
	}
	id, err := s.forAgent(call)
	if err != nil {
		return nil, err
	}
	scope := "system"
	if p.Scope == "agent" {
		scope = p.Scope
	}
	identity := map[string]any{"source": "system-detected", "credentialKind": "native", "credentialState": "unavailable", "account": nil,
		"gitAuthor": map[string]any{"name": nil, "email": nil}, "evidence": "none", "accessExpiresAtMs": nil, "refreshState": "not_applicable",
		"oauthScopes": []any{}, "repositoryGrants": "unknown"}
	return map[string]any{"agentId": id, "selectedScope": scope, "selected": map[string]any{"scope": scope, "configured": false, "identity": nil},
		"effective": identity}, nil
}

// answerWebSearch answers webSearch.status: agents have no web search tool.
func (s *Server) answerWebSearch(_ context.Context, call *wire.Call) (any, error) {
	id, err := s.forAgent(call)
	if err != nil {
		return nil, err
	}
	ref := modelRefOf(s.opts.Configuration.InForce().ModelFor(id).Primary)
	return map[string]any{"enabled": false, "provider": nil, "agentId": id, "providers": []any{},
		"model": map[string]any{"provider": ref.Provider, "id": ref.Model, "runtime": "openclawd", "runtimeLabel": "openclawd"},
		"route": map[string]any{"kind": "disabled", "label": "No web search", "reason": "openclawd has no web search tool", "testable": false}}, nil
}

// schemaPart is the part of a JSON Schema needed to walk through it.
type schemaPart = map[string]any

// lookUpConfigSchema answers config.schema.lookup: the schema of one configuration path. An unknown path has an empty
// schema.
func (s *Server) lookUpConfigSchema(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Path string `json:"path"`
	}](call)
	if err != nil {
		return nil, err
	}
	part := configSchemaAt(strings.FieldsFunc(p.Path, func(r rune) bool { return strings.ContainsRune("./[]", r) }))
	children := []map[string]any{}
	members, _ := part["properties"].(schemaPart)
	for _, name := range sortedNames(members) {
		child, _ := members[name].(schemaPart)
		children = append(children, map[string]any{"key": name, "path": p.Path + "." + name, "type": child["type"], "required": false,
			"hasChildren": child["properties"] != nil || child["items"] != nil})
	}
	return map[string]any{"path": p.Path, "schema": part, "children": children}, nil
}
