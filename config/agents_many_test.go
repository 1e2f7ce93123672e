package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
)

// manyAgents are settings of so many agents, in one of the forms that a file may have.
func manyAgents(form string, n int) string {
	var b strings.Builder
	for i := range n {
		if form == "list" {
			fmt.Fprintf(&b, "{id: 'Agent%d'},", i)
		} else {
			fmt.Fprintf(&b, "Agent%d: {name: 'x'},", i)
		}
	}
	switch form {
	case "list":
		return "{agents: {list: [" + b.String() + "]}}"
	case "entries":
		return "{agents: {entries: {" + b.String() + "}}}"
	}
	return "{agents: {" + b.String() + "}}"
}

// A configuration has a bounded number of agents in each form: all that is done for each agent is bounded with it.
func TestAgentsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 1_000
	for form, refused := range map[string]string{
		"list":    "error too_many_agents openclaw.json:1:17: agents.list: ",
		"entries": "error too_many_agents openclaw.json:1:20: agents.entries: ",
		"older":   "error too_many_agents openclaw.json:1:10: agents: ",
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			c, findings := load(t, manyAgents(form, most), nil)
			wantFindings(t, findings)
			if a := c.AgentNamed("aGENT999"); len(c.Agents) != most || a == nil || a.ID != "Agent999" || c.AgentNamed("agent1000") != nil || c.AgentNamed("") != nil {
				t.Errorf("%d agents, the last is %+v", len(c.Agents), a)
			}
			if got := c.DefaultAgentID(); got != "agent0" {
				t.Errorf("the default is %s", got)
			}
			for _, n := range []int{most + 1, 50_000} {
				c, findings = load(t, manyAgents(form, n), nil)
				wantFindings(t, findings, fmt.Sprintf("%s%d agents are configured here; the maximum is 1000 "+
					"(remove unneeded ones, or move them to another server with its own state directory)", refused, n))
				if len(c.Agents) != 0 {
					t.Errorf("%d agents were read of a configuration that must not be used", len(c.Agents))
				}
			}
		})
	}
}

// A copy of a configuration that was given other agents finds those, not the ones that were loaded.
func TestAgentsOfACopyAreFound(t *testing.T) {
	t.Parallel()
	c, _ := load(t, `{agents: {list: [{id: 'Eden'}, {id: 'seum'}]}}`, nil)
	other := *c
	other.Agents = []config.Agent{{ID: "ruda"}, {ID: "Eden"}}
	if a := other.AgentNamed("EDEN"); a != &other.Agents[1] || other.AgentNamed("seum") != nil || other.AgentNamed("Ruda") == nil {
		t.Errorf("%+v", a)
	}
	if a := c.AgentNamed("eden"); a != &c.Agents[0] {
		t.Errorf("%+v", a)
	}
}
