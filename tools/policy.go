package tools

import (
	"slices"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/access"
)

// admit reports whether a tool may be called: by the tool's own rules, the agent's profile, the policies for all agents and for this
// one, and for remote calls the gateway's policy. Each of them can forbid it.
func (call *Call) admit(t *Tool) bool {
	conf := call.Config
	agent := conf.AgentNamed(call.AgentID)
	switch {
	case slices.Contains(t.Who.NotFrom, call.Session.Kind), slices.Contains(t.Who.NotBy, call.Entry):
		return false
	case t.Who.NotUtility && agent != nil && agent.IsUtility():
		return false
	case t.Who.Unless != nil && t.Who.Unless(call):
		return false
	case (call.Entry == tool.ByHTTP || call.Entry == tool.ByWire) && !allowsWire(conf.Gateway.Tools, call.Entry, &t.Spec):
		return false
	}
	_, denied := access.DenyTool(conf, call.AgentID, &t.Spec)
	return !denied
}

// couldHave reports whether the configuration lets the caller have any tool whose name begins with a prefix.
func (call *Call) couldHave(prefix string) bool {
	return access.CouldHaveTools(call.Config, call.AgentID, prefix, tool.GroupMCP)
}

// allowsWire reports whether the gateway's policy allows a tool. Over HTTP its Allow only adds: tools that make agents act are denied
// without it, since such a request may come from a page or script that does not mean it. WebSocket clients that may write can make agents
// act anyway.
func allowsWire(p config.ToolPolicy, by tool.Entry, s *tool.Spec) bool {
	acting := []string{"group:" + tool.GroupMCP, "group:" + tool.GroupRuntime, "write", "edit", "apply_patch", "sessions_spawn", "sessions_send", "sessions_broadcast", "collaborate", "message", "task_verify", "task_approve", "task_reject", "plan_approve",
		"plan_reject", "cron", "gateway", "whatsapp_login"}
	return !tool.Names(p.Deny, s) && (by != tool.ByHTTP || !tool.Names(acting, s) || tool.Names(p.Allow, s))
}
