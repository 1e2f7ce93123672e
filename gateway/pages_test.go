package gateway_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Every method that a page of the Control UI starts with is answered, in the form that the page expects, for every client that may read.
func TestPagesBegin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.protocol = 4
	for method, c := range map[string]struct{ params, member string }{
		"update.status": {`{}`, "updateAvailable"}, "exec.approval.grants.list": {`{}`, "grants"}, "models.authStatus": {`{"agentId":"main"}`, "providers"},
		"talk.catalog": {`{}`, "modes"}, "progressCard.get": {`{"sessionKey":"main"}`, "card"}, "sessions.branches.list": {`{"sessionKey":"main"}`, "branches"},
		"sessions.companion.state": {`{"sessionKey":"main"}`, "exchanges"}, "sessions.observer.visibility": {`{"visible":true}`, "ok"},
		"environments.list": {`{}`, "environments"}, "transcripts.list": {`{"limit":50}`, "sessions"}, "plugins.list": {`{}`, "plugins"},
		"plugins.catalog.browse": {`{"intent":"all"}`, "items"}, "channels.pairing.list": {`{}`, "requests"}, "themes.list": {`{}`, "current"},
		"tools.github.status":  {`{"agentId":"main","selectedScope":"system"}`, "effective"},
		"config.schema.lookup": {`{"path":"gateway.auth"}`, "children"}, "doctor.memory.status": {`{"agentId":"main"}`, "embedding"},
		"webSearch.status": {`{"agentId":"main"}`, "route"}, "migrations.memory.plan": {`{"agentId":"main","overwrite":false}`, "providers"},
		"worktrees.list": {`{}`, "worktrees"}, "system.info": {`{}`, "cpuCount"}, "diagnostics.lanes": {`{}`, "lanes"},
		"skills.proposals.list": {`{"agentId":"main"}`, "proposals"}, "skills.library.list": {`{"scope":"all"}`, "entries"},
		"skills.search": {`{"limit":20}`, "results"}, "sessions.usage": {`{"agentScope":"all","groupBy":"family"}`, "aggregates"},
		"sessions.usage.logs": {`{"key":"main"}`, "logs"}, "sessions.usage.timeseries": {`{"key":"main"}`, "points"}, "update.run": {`{}`, "result"},
	} {
		var members map[string]json.RawMessage
		if got := b.answer(t, method, c.params); json.Unmarshal(got, &members) != nil || members[c.member] == nil {
			t.Errorf("%s: no %s in %.300s", method, c.member, got)
		}
	}
	for _, method := range []string{"update.status", "models.authStatus", "tasks.list", "sessions.usage", "system.info", "diagnostics.lanes", "themes.list",
		"plugins.list", "config.schema.lookup", "webSearch.status", "agents.files.list"} {
		if refused := protocol.Allowed("operator", []string{protocol.ScopeRead}, method, 4); refused != nil {
			t.Errorf("%s: %s", method, refused.Message)
		}
	}
	for _, method := range []string{"exec.approval.list", "openclaw.approval.list", "approval.history", "approval.resolve", "exec.approval.resolve"} {
		if protocol.Allowed("operator", []string{protocol.ScopeApprovals}, method, 4) != nil ||
			protocol.Allowed("operator", []string{protocol.ScopeWrite}, method, 4) == nil {
			t.Errorf("%s takes another scope than approvals", method)
		}
	}
	for _, method := range []string{"agents.files.set", "update.run"} {
		if protocol.Allowed("operator", []string{protocol.ScopeWrite, protocol.ScopeRead}, method, 4) == nil {
			t.Errorf("%s takes less than admin", method)
		}
	}
	if got := b.refused(t, "exec.approval.resolve", `{"id":"x","decision":"deny"}`); got.Code != protocol.CodeUnavailable {
		t.Errorf("decided where nothing is: %+v", got)
	}
	if got := b.refused(t, "agents.files.list", `{"agentId":"main"}`); got.Code != protocol.CodeUnavailable {
		t.Errorf("files where there are none: %+v", got)
	}
}
