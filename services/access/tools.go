package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// ToolRule is the setting that keeps a tool from an agent.
type ToolRule struct {
	own bool // of the agent; otherwise of all agents
	key string
}

const (
	keyProfile = "profile"
	keyAllow   = "allow"
	keyDeny    = "deny"
)

// DenyTool reports whether the configuration keeps a tool from an agent, and by which setting: its profile, the policy
// for this agent, or the one for all. Each of them can forbid it. Any id may be given.
func DenyTool(c *config.Config, agentID string, s *tool.Spec) (rule ToolRule, denied bool) {
	agent := c.AgentNamed(agentID)
	if profile, also := c.ToolProfile(agentID); !tool.Names(inProfile(profile), s) && !tool.Names(also, s) {
		return ToolRule{agent != nil && agent.Tools.Profile != "", keyProfile}, true
	}
	if agent != nil {
		if key := denies(agent.Tools, s); key != "" {
			return ToolRule{true, key}, true
		}
	}
	key := denies(c.Tools.ToolPolicy, s)
	return ToolRule{false, key}, key != ""
}

// ExplainTool is DenyTool with the rule explained to those who configure the agent.
func ExplainTool(c *config.Config, agentID string, s *tool.Spec) (v policy.Verdict, denied bool) {
	rule, denied := DenyTool(c, agentID, s)
	if !denied {
		return policy.Verdict{}, false
	}
	return *rule.verdict(c, agentID, s.Name), true
}

// denies returns the key of a policy that forbids a tool, "" for none. Deny wins; an empty allow list allows everything.
func denies(p config.ToolPolicy, s *tool.Spec) string {
	switch {
	case tool.Names(p.Deny, s):
		return keyDeny
	case len(p.Allow) == 0, tool.Names(p.Allow, s), tool.Names(p.AlsoAllow, s):
		return ""
	}
	return keyAllow
}

// inProfile lists the tools and groups of each profile, as in OpenClaw; task and plan tools are part of an agent's work, and
// sessions_broadcast goes with sessions_send.
func inProfile(profile string) []string {
	switch profile {
	case config.ProfileFull:
		return []string{"*"}
	case config.ProfileCoding:
		return []string{"group:" + tool.GroupSessions, "group:" + tool.GroupTasks, "group:" + tool.GroupPlans, "group:" + tool.GroupMCP,
			"group:" + tool.GroupFiles, "group:" + tool.GroupRuntime, "group:" + tool.GroupWeb}
	case config.ProfileMessaging:
		return []string{"sessions_list", "sessions_history", "sessions_send", "sessions_broadcast", "session_status", "collaborate", "message", "group:" + tool.GroupMCP}
	default:
		return []string{"session_status"}
	}
}

// CouldHaveTools reports whether the configuration may let an agent have any tool of a group whose name begins with a prefix, before those
// tools are known.
func CouldHaveTools(c *config.Config, agentID, prefix, group string) bool {
	prefix = strings.ToLower(prefix)
	every := &tool.Spec{Name: prefix + "*", Group: group}
	could := func(list []string) bool {
		return tool.Names(list, every) || slices.ContainsFunc(list, func(pattern string) bool {
			pattern = strings.ToLower(coordination.TrimJS(pattern))
			return strings.HasPrefix(pattern, prefix) || strings.Contains(pattern, "*")
		})
	}
	allows := func(p config.ToolPolicy) bool {
		return !tool.Names(p.Deny, every) && (len(p.Allow) == 0 || could(p.Allow) || could(p.AlsoAllow))
	}
	agent := c.AgentNamed(agentID)
	profile, also := c.ToolProfile(agentID)
	return (could(inProfile(profile)) || could(also)) && (agent == nil || allows(agent.Tools)) && allows(c.Tools.ToolPolicy)
}

// verdict explains the rule to those who configure the agent.
func (r ToolRule) verdict(c *config.Config, agentID, name string) *policy.Verdict {
	path := func(own bool, key string) string {
		if own {
			return c.AgentPath(agentID) + ".tools." + key
		}
		return "tools." + key
	}
	setting := path(r.own, r.key)
	v := &policy.Verdict{Rule: policy.RuleToolPolicy, Hint: fmt.Sprintf("add %q to %s", name, setting)}
	switch r.key {
	case keyDeny:
		v.Why = fmt.Sprintf("%s does not have %s: %s names it", agentID, name, setting)
		v.Hint = fmt.Sprintf("remove what names %s from %s", name, setting)
	case keyAllow:
		v.Why = fmt.Sprintf("%s does not have %s: %s does not name it", agentID, name, setting)
	default:
		agent := cmp.Or(c.AgentNamed(agentID), &config.Agent{})
		profile, _ := c.ToolProfile(agentID)
		v.Why = fmt.Sprintf("%s does not have %s: %s is %q", agentID, name, setting, profile)
		v.Hint = fmt.Sprintf("add %q to %s", name, path(agent.Tools.AlsoAllow != nil, "alsoAllow"))
	}
	return v
}
