package tools

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
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
	case !isInProfile(conf, call.AgentID, &t.Spec):
		return false
	case agent != nil && !allows(agent.Tools, &t.Spec):
		return false
	case (call.Entry == tool.ByHTTP || call.Entry == tool.ByWire) && !allowsWire(conf.Gateway.Tools, call.Entry, &t.Spec):
		return false
	}
	return allows(conf.Tools.ToolPolicy, &t.Spec)
}

// isInProfile reports whether a tool is in the profile of an agent, or allowed in addition to it.
func isInProfile(conf *config.Config, agentID string, s *tool.Spec) bool {
	profile, also := conf.ToolProfile(agentID)
	return named(inProfile(profile), s) || named(also, s)
}

// inProfile lists the tools and groups of each profile, as in the reference system; task and plan tools are part of an agent's work, and
// sessions_broadcast goes with sessions_send.
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

// allows reports whether a policy allows a tool. Deny wins; an empty allow list allows everything.
func allows(p config.ToolPolicy, s *tool.Spec) bool {
	return !named(p.Deny, s) && (len(p.Allow) == 0 || named(p.Allow, s) || named(p.AlsoAllow, s))
}

// allowsWire is allows for the gateway's policy. Over HTTP its Allow only adds: tools that make agents act are denied without it, since
// such a request may come from a page or script that does not mean it. WebSocket clients that may write can make agents act anyway.
func allowsWire(p config.ToolPolicy, by tool.Entry, s *tool.Spec) bool {
	acting := []string{"sessions_spawn", "sessions_send", "sessions_broadcast", "collaborate", "task_verify", "task_approve", "task_reject", "plan_approve",
		"plan_reject", "cron", "gateway", "whatsapp_login"}
	return !named(p.Deny, s) && (by != tool.ByHTTP || !named(acting, s) || named(p.Allow, s))
}

const everyGroup = "openclaw"

// named reports whether a policy's list names a tool: by name, with * as wildcard, or as group:<its group>.
func named(list []string, s *tool.Spec) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		pattern = strings.ToLower(coordination.TrimJS(pattern))
		if group, is := strings.CutPrefix(pattern, "group:"); is {
			return group == everyGroup || group != "" && group == s.Group
		}
		return coordination.Matches(pattern, s.Name)
	})
}
