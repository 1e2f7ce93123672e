package tools

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// admit reports whether a tool may be called: by what it says itself, by the profile of the agent, by what holds for all agents and for this
// one, and for what comes over a wire by the policy of the gateway. Each of them can forbid it.
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
	case !isInProfile(conf, call.AgentID, &t.Spec):
		return false
	case agent != nil && !allows(agent.Tools, &t.Spec):
		return false
	case (call.Entry == tool.ByHTTP || call.Entry == tool.ByWire) && !allowsWire(conf.Gateway.Tools, call.Entry, &t.Spec):
		return false
	}
	return allows(conf.Tools.ToolPolicy, &t.Spec)
}

// isInProfile reports whether a tool is one of the profile that holds for an agent, or allowed beside it.
func isInProfile(conf *config.Config, agentID string, s *tool.Spec) bool {
	profile, also := conf.ToolProfile(agentID)
	return named(inProfile(profile), s) || named(also, s)
}

// inProfile is what a profile holds, of the tools and groups that there are here. They are those of the reference system; the tasks and plans
// of agents are part of their work, and who may write to one agent may write to several.
func inProfile(profile string) []string {
	switch profile {
	case config.ProfileFull:
		return []string{"*"}
	case config.ProfileCoding:
		return []string{"group:" + tool.GroupSessions, "group:" + tool.GroupTasks, "group:" + tool.GroupPlans}
	case config.ProfileMessaging:
		return []string{"sessions_list", "sessions_history", "sessions_send", "sessions_broadcast", "session_status", "collaborate"}
	default:
		return []string{"session_status"}
	}
}

// allows reports whether a policy lets a tool be called. Denying wins; where nothing is allowed, everything is.
func allows(p config.ToolPolicy, s *tool.Spec) bool {
	return !named(p.Deny, s) && (len(p.Allow) == 0 || named(p.Allow, s) || named(p.AlsoAllow, s))
}

// allowsWire is allows for the policy of the gateway. Over HTTP its Allow only adds: what makes agents act is denied without it, as such
// requests may come by way of a page or a script that does not mean it. Clients of the WebSocket that may write may have agents act anyway.
func allowsWire(p config.ToolPolicy, by tool.Entry, s *tool.Spec) bool {
	acting := []string{"sessions_spawn", "sessions_send", "sessions_broadcast", "collaborate", "task_verify", "task_approve", "task_reject", "plan_approve",
		"plan_reject", "cron", "gateway", "whatsapp_login"}
	return !named(p.Deny, s) && (by != tool.ByHTTP || !named(acting, s) || named(p.Allow, s))
}

// everyGroup is the group in which every tool of the program is.
const everyGroup = "openclaw"

// named reports whether a policy's list names a tool: by its name, with * for any part of it, or by group: and its group.
func named(list []string, s *tool.Spec) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		pattern = strings.ToLower(coordination.TrimJS(pattern))
		if group, is := strings.CutPrefix(pattern, "group:"); is {
			return group == everyGroup || group != "" && group == s.Group
		}
		return coordination.Matches(pattern, s.Name)
	})
}
