package access

import (
	"fmt"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// row explains what one agent may do with others. What is the same towards all of them is decided once.
type row struct {
	config   *config.Config
	from     string
	settings *config.Agent // nil: it has none
	starts   string        // path of the setting that says which agents it may start
	rules    *policy.Row

	// The missing tool of each, nil if the agent has it.
	send, spawn, visible *policy.Verdict
}

// rowOf takes the policy about messages of the configuration, and an id as agentMeant returns it.
func rowOf(c *config.Config, rules policy.AgentToAgent, from string) *row {
	return &row{config: c, from: from, settings: c.AgentNamed(from), starts: startsOf(c, from), rules: rules.Row(from),
		send: lack(c, from, "sessions_send"), spawn: lack(c, from, "sessions_spawn"), visible: lack(c, from, "sessions_list", "sessions_history")}
}

// lack explains why an agent has none of some tools of sessions, by the first of them; nil if it has one.
func lack(c *config.Config, agentID string, names ...string) (first *policy.Verdict) {
	for _, name := range names {
		rule, denied := DenyTool(c, agentID, &tool.Spec{Name: name, Group: tool.GroupSessions})
		if !denied {
			return nil
		}
		if first == nil {
			first = rule.verdict(c, agentID, name)
		}
	}
	return first
}

// explain takes an id as agentMeant returns it.
func (r *row) explain(to string) policy.Policy {
	judged := r.rules.Judge(to)
	return policy.Policy{From: r.from, To: to, Send: unless(r.send, judged), Spawn: unless(r.spawn, r.explainSpawn(to)),
		Visible: unless(r.visible, r.explainVisible(to, judged))}
}

// unless is a verdict of an agent that may lack the tool.
func unless(lacking *policy.Verdict, v policy.Verdict) policy.Verdict {
	if lacking != nil {
		return *lacking
	}
	return v
}

func (r *row) explainSpawn(to string) policy.Verdict {
	switch {
	case r.from == to:
		return policy.Verdict{Allowed: true, Rule: policy.RuleSameAgent, Why: "every agent may start itself as its sub-agent"}
	case mayStart(r.settings, r.from, to):
		return policy.Verdict{Allowed: true, Rule: policy.RuleAllowAgents, Why: fmt.Sprintf("%s names %s", r.starts, to)}
	}
	return policy.Verdict{Rule: policy.RuleAllowAgents, Why: fmt.Sprintf("%s does not name %s", r.starts, to), Hint: fmt.Sprintf("add %q to %s", to, r.starts)}
}

// explainVisible explains which sessions of to the main session of the row's agent sees. judged is the policy about messages, which Guard
// asks too.
func (r *row) explainVisible(to string, judged policy.Verdict) policy.Verdict {
	visibility := r.config.Tools.Visibility
	if r.from == to {
		what := map[string]string{"self": "its own session only", "tree": "its own session and those that come from it"}[visibility]
		if what == "" {
			what = "all of its own"
		}
		return policy.Verdict{Allowed: true, Rule: policy.RuleVisibility, Why: fmt.Sprintf("tools.sessions.visibility is %q: an agent sees %s", visibility, what)}
	}
	switch why := hidesOthers(r.config); {
	case why != "":
		return policy.Verdict{Rule: policy.RuleVisibility, Why: why, Hint: `set tools.sessions.visibility to "all"`}
	case !judged.Allowed:
		return judged
	}
	return policy.Verdict{Allowed: true, Rule: policy.RuleVisibility,
		Why: fmt.Sprintf("tools.sessions.visibility is %q, and %s may write to %s", visibility, r.from, to)}
}

// hidesOthers explains why sessions of other agents are not visible; "" if that depends on the agents.
func hidesOthers(c *config.Config) string {
	if c.Tools.Visibility == visibleAll {
		return ""
	}
	return fmt.Sprintf("sessions of other agents are not visible: tools.sessions.visibility is %q, it has to be %q for that", c.Tools.Visibility, visibleAll)
}
