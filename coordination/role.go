package coordination

import (
	"slices"
	"strings"
)

// Role is the audience of an event.
type Role string

const (
	RoleConversation  Role = "conversation.main"    // between main agents
	RoleDelegation    Role = "delegation.subagent"  // work of sub-agents, and its runs
	RoleOrchestration Role = "orchestration.task"   // state of tasks, plans and jobs
	RoleObservability Role = "system.observability" // the system itself
)

var roles = [...]Role{RoleConversation, RoleDelegation, RoleOrchestration, RoleObservability}

// Roles lists the four roles in their fixed order.
func Roles() []Role { return slices.Clone(roles[:]) }

func (r Role) Valid() bool { return slices.Contains(roles[:], r) }

// SessionType is the kind of session on one side of an event.
type SessionType string

const (
	SessionMain     SessionType = "main"
	SessionSubagent SessionType = "subagent"
	SessionUnknown  SessionType = "unknown"
)

func (t SessionType) Valid() bool {
	return t == SessionMain || t == SessionSubagent || t == SessionUnknown
}

// sessionTypes returns the kinds of session an event passed between.
//
// Under RulesV1 a producer's claim counts only if both sides are claimed, and then unchanged, including "unknown". Under RulesV2 each
// side claimed to be main or subagent counts by itself.
func sessionTypes(rules Rules, r *Record, roster *Roster) (from, to SessionType) {
	from, to = SessionType(r.FromSessionType), SessionType(r.ToSessionType)
	if rules != RulesV2 {
		if from.Valid() && to.Valid() {
			return from, to
		}
		from, to = SessionUnknown, SessionUnknown
	}
	spawn := isSpawn(r.Type)
	if !decided(from) {
		if from = keySessionType(firstText(r.SourceSessionKey, r.RequesterSessionKey, r.SessionKey)); spawn {
			from = SessionMain
		}
	}
	if !decided(to) {
		if to = keySessionType(r.TargetSessionKey); spawn {
			to = SessionSubagent
		}
	}
	if decided(from) && decided(to) {
		return from, to
	}
	fromMain, toMain := roster.IsMain(r.From(), rules), roster.IsMain(r.To(), rules)
	if !decided(from) {
		from = agentSessionType(fromMain, toMain && r.delegated())
	}
	if !decided(to) {
		to = agentSessionType(toMain, fromMain && r.delegated())
	}
	return from, to
}

func decided(t SessionType) bool { return t == SessionMain || t == SessionSubagent }

// keySessionType classifies a session key. For conversation, direct and channel sessions the agent decides.
func keySessionType(key string) SessionType {
	if strings.Contains(key, ":subagent:") {
		return SessionSubagent
	}
	const head, tail = "agent:", ":main"
	if len(key) > len(head)+len(tail) && strings.EqualFold(key[:len(head)], head) && strings.EqualFold(key[len(key)-len(tail):], tail) &&
		!strings.Contains(key[len(head):len(key)-len(tail)], ":") {
		return SessionMain
	}
	return SessionUnknown
}

func agentSessionType(isMain, delegatedByMain bool) SessionType {
	switch {
	case isMain:
		return SessionMain
	case delegatedByMain:
		return SessionSubagent
	}
	return SessionUnknown
}

// roleOf returns an event's role, and whether it was guessed because no valid one was claimed.
func roleOf(rules Rules, r *Record, from, to SessionType) (role Role, guessed bool) {
	if claimed := Role(r.EventRole); claimed.Valid() {
		return claimed, false
	}
	if rules == RulesV2 {
		return typeRole(r, from, to), true
	}
	switch {
	case hasAnyPrefix(r.Type, orchestrationFamilies[:]):
		return RoleOrchestration, true
	case strings.HasPrefix(r.Type, "a2a."):
		return exchangeRole(r, from, to), true
	}
	return RoleObservability, true
}

var orchestrationFamilies = [...]string{"task.", "continuation.", "plan.", "unblock.", "zombie.", "resume_reminder.", "backlog."}

// typeRole is the role of a type under RulesV2. Only sends, responses, completions and auto-routes can be conversation; unknown types go
// by family.
func typeRole(r *Record, from, to SessionType) Role {
	info, known := Lookup(r.Type)
	switch {
	case known && info.Role == RoleConversation:
		return exchangeRole(r, from, to)
	case known:
		return info.Role
	case hasAnyPrefix(r.Type, orchestrationFamilies[:]), hasAnyPrefix(r.Type, []string{"a2a.job.", "a2a.collaborate.", "collab."}):
		return RoleOrchestration
	case strings.HasPrefix(r.Type, "a2a.concurrency."), strings.HasPrefix(r.Type, "a2a.send."):
		return RoleObservability
	case strings.HasPrefix(r.Type, "a2a."), strings.HasPrefix(r.Type, "delegation."):
		return RoleDelegation
	}
	return RoleObservability
}

// exchangeRole decides between conversation and delegation, which is the default.
func exchangeRole(r *Record, from, to SessionType) Role {
	if !isSpawn(r.Type) && !r.delegated() && from == SessionMain && to == SessionMain {
		return RoleConversation
	}
	return RoleDelegation
}

func isSpawn(typ string) bool { return typ == TypeA2ASpawn || typ == TypeA2ASpawnResult }

func hasAnyPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
