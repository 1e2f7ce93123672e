package protocol

import (
	"slices"
	"strings"
)

// Operator scopes. Admin covers all others, write covers read.
const (
	ScopeAdmin     = "operator.admin"
	ScopeRead      = "operator.read"
	ScopeWrite     = "operator.write"
	ScopeApprovals = "operator.approvals"
	ScopePairing   = "operator.pairing"
	ScopeQuestions = "operator.questions" // protocol 4
)

// Allowed returns why a peer may not call a method, nil if it may. Unknown methods require admin; health requires
// nothing. A method missing from the client's version has the scope of the version that has it.
func Allowed(role string, scopes []string, method string, version int) *Error {
	if forWorkers := ForWorkers(method); forWorkers || role == RoleWorker {
		if forWorkers == (role == RoleWorker) {
			return nil
		}
		return &Error{Code: CodeInvalidRequest, Message: "unauthorized role: " + role}
	}
	if method == "health" {
		return nil
	}
	forNodes := ForNodes(method)
	if forNodes != (role == RoleNode) {
		return &Error{Code: CodeInvalidRequest, Message: "unauthorized role: " + role}
	}
	needed := scopeOf(method, version)
	if forNodes || Covers(scopes, needed) {
		return nil
	}
	e := &Error{Code: CodeInvalidRequest, Message: "missing scope: " + needed}
	if version >= SinceLeastScopes {
		e.Code, e.Details = CodeForbidden, missingScope{"MISSING_SCOPE", needed, []string{needed}}
	}
	return e
}

// ForNodes reports whether only nodes may call a method, regardless of scopes.
func ForNodes(method string) bool {
	return slices.Contains([]string{"skills.bins", "node.event", "node.invoke.result"}, method)
}

// ForWorkers reports whether only workers may call a method, and nothing else.
func ForWorkers(method string) bool {
	return slices.Contains([]string{"worker.register", "worker.lease", "worker.next", "worker.report", "worker.leave"}, method)
}

type missingScope struct {
	Code     string   `json:"code"`
	Missing  string   `json:"missingScope"`
	Required []string `json:"requiredScopes"`
}

// Covers reports whether these scopes include the needed one.
func Covers(scopes []string, needed string) bool {
	return slices.Contains(scopes, needed) || slices.Contains(scopes, ScopeAdmin) ||
		needed == ScopeRead && slices.Contains(scopes, ScopeWrite)
}

func scopeOf(method string, version int) string {
	switch method {
	case "status", "system-presence", "last-heartbeat", "logs.tail", "channels.status", "usage.status", "usage.cost",
		"tts.status", "tts.providers", "models.list", "tools.catalog", "tools.effective", "agents.list", "agent.identity.get",
		"agents.files.list", "agents.files.get", "skills.status", "voicewake.get", "sessions.list", "sessions.preview",
		"sessions.resolve", "sessions.describe", "sessions.usage", "sessions.usage.timeseries", "sessions.usage.logs",
		"sessions.subscribe", "sessions.unsubscribe", "sessions.messages.subscribe", "sessions.messages.unsubscribe",
		"cron.list", "cron.status", "cron.runs", "cron.get", "node.list", "node.describe", "chat.history", "chat.startup", "chat.metadata",
		"commands.list", "users.self", "system.info", "config.get", "config.schema.lookup", "talk.config", "talk.catalog", "doctor.memory.status",
		"tasks.list", "tasks.get", "worker.list", "diagnostics.lanes", "update.status", "models.authStatus", "transcripts.list", "transcripts.status",
		"environments.list", "worktrees.list", "projects.list", "portal.list", "artifacts.list", "plugins.list", "plugins.catalog.browse",
		"plugins.catalog.categories", "skills.search",
		"skills.library.list", "skills.proposals.list", "themes.list", "taskSuggestions.list", "progressCard.get", "sessions.branches.list",
		"sessions.compaction.list", "sessions.companion.state", "sessions.observer.visibility", "tools.github.status", "webSearch.status":
		return ScopeRead
	case "send", "poll", "agent", "agent.wait", "wake", "chat.send", "chat.abort", "sessions.abort", "talk.mode", "tts.enable",
		"tts.disable", "tts.convert", "tts.setProvider", "voicewake.set", "node.invoke", "browser.request", "push.test",
		"tools.invoke", "sessions.create":
		return ScopeWrite
	case "sessions.patch":
		if version >= SinceLeastScopes {
			return ScopeWrite
		}
		return ScopeAdmin
	case "exec.approval.request", "exec.approval.waitDecision", "exec.approval.resolve", "plugin.approval.list", "exec.approval.list", "exec.approval.get",
		"openclaw.approval.list", "approval.history", "approval.resolve":
		return ScopeApprovals
	case "question.list":
		return ScopeQuestions
	case "node.rename":
		return ScopePairing
	}
	for _, family := range []string{"node.pair.", "device.pair.", "device.token.", "channels.pairing."} {
		if strings.HasPrefix(method, family) {
			return ScopePairing
		}
	}
	return ScopeAdmin
}
