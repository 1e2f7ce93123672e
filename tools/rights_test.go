package tools_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// The rights of an agent are what its main session is offered, with the setting or the tool that denies the rest.
func TestRights(t *testing.T) {
	t.Parallel()
	utility := echo("sessions_spawn", "sessions", anything)
	utility.Who.NotUtility = true
	conf := config.Default()
	conf.Agents = []config.Agent{{ID: "Eden", Tools: config.ToolPolicy{Deny: []string{"cron"}}}, {ID: "quick", Utility: true}}
	r, _ := setup(t, func(c *config.Config) { *c = *conf }, echo("agents_list", "agents", anything), echo("cron", "automation", anything), utility)
	all, err := r.Rights("", 1)
	if err != nil || len(all.Agents) != 1 || all.Count != 2 || !all.Truncated || len(all.Tools) != 0 || all.Agents[0] != (policy.AgentRights{AgentID: "eden", Profile: "full", Allowed: 2, Denied: 1}) {
		t.Errorf("%+v, %v", all, err)
	}
	for agent, want := range map[string]string{"EDEN": "agents_list; cron: its setting; sessions_spawn", "quick": "agents_list; cron; sessions_spawn: built in"} {
		one, err := r.Rights(agent, 1)
		if err != nil {
			t.Fatal(err)
		}
		var got, offered []string
		for _, right := range one.Tools {
			text := right.Tool
			switch {
			case right.BuiltIn:
				text += ": built in"
			case !right.Allowed && strings.Contains(right.Why, "agents.entries.eden.tools.deny") && right.Hint != "":
				text += ": its setting"
			case right.Allowed:
				offered = append(offered, right.Tool)
			default:
				text += ": " + right.Why
			}
			got = append(got, text)
		}
		if strings.Join(got, "; ") != want || len(one.Agents) != 1 || one.Truncated {
			t.Errorf("%s: %q, want %q; %+v", agent, got, want, one.Agents)
		}
		specs := r.Offer(tool.Caller{Entry: tool.ByRun, AgentID: agent})
		if len(specs) != len(offered) || one.Agents[0].Allowed != len(offered) {
			t.Errorf("%s: offered %d tools, has the right to %q", agent, len(specs), offered)
		}
	}
	if _, err := r.Rights("stranger", 1); !errors.As(err, new(*policy.NoAgentError)) {
		t.Errorf("an unknown agent: %v", err)
	}
}
