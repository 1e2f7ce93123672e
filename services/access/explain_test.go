package access_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/services/access"
)

// Each verdict names the rule that decides, and one that refuses how to change it.
func TestPolicyNamesItsRules(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Agents = []config.Agent{{ID: "Eden", AllowAgents: []string{"seum"}}, {ID: "seum"}}
	rules := func(from, to string) string {
		t.Helper()
		p, err := access.Explain(c, from, to)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, v := range []policy.Verdict{p.Send, p.Spawn, p.Visible} {
			may := "-"
			if v.Allowed {
				may = "+"
			}
			if told = append(told, may+string(v.Rule)); v.Why == "" || v.Allowed == (v.Hint != "") {
				t.Errorf("%s to %s: %+v", from, to, v)
			}
		}
		return p.From + " " + p.To + " " + strings.Join(told, " ")
	}
	var got []string
	got = append(got, rules("eden", "seum"), rules("seum", "EDEN"), rules("eden", "eden"))
	c.Tools.AgentToAgent.Enabled = true
	got = append(got, rules("eden", "seum"))
	c.Tools.Visibility = "all"
	got = append(got, rules("eden", "seum"))
	c.Tools.AgentToAgent.Pairs = []config.AgentPair{{From: "*", To: "seum"}}
	got = append(got, rules("eden", "seum"), rules("seum", "eden"))
	c.Tools.AgentToAgent = config.AgentToAgent{Enabled: true, Allow: []string{"seum"}}
	got = append(got, rules("eden", "seum"))
	want := []string{
		"eden seum -disabled +allow_agents -visibility", "seum eden -disabled -allow_agents -visibility", "eden eden +same_agent +same_agent +visibility",
		"eden seum +open +allow_agents -visibility", "eden seum +open +allow_agents +visibility",
		"eden seum -pair +allow_agents -pair", "seum eden +open -allow_agents +visibility", "eden seum -allow_list +allow_agents -allow_list",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The matrix says of each two agents, also of an agent and itself, what the single question says, without its texts; the row of one agent
// has them.
func TestMatrixIsWhatSingleQuestionsSay(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Agents = []config.Agent{{ID: "Eden", AllowAgents: []string{"seum"}}, {ID: "seum", AllowAgents: []string{"*"}}, {ID: "ruda"}}
	c.Tools.Visibility = "all"
	c.Tools.AgentToAgent = config.AgentToAgent{Enabled: true, Allow: []string{"eden", "seum"}, Pairs: []config.AgentPair{{From: "seum", To: "eden"}}}
	matrix := func(from string, most int) policy.Matrix {
		t.Helper()
		m, err := access.ExplainAll(c, from, most)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := matrix("", 3)
	if m.Truncated || m.Count != 3 || strings.Join(m.Agents, " ") != "eden seum ruda" || len(m.Policies) != 9 {
		t.Fatalf("%+v", m)
	}
	allowed := map[bool]int{}
	for i, got := range m.Policies {
		want, err := access.Explain(c, m.Agents[i/3], m.Agents[i%3])
		if err != nil || got != withoutTexts(want) {
			t.Errorf("%+v, want %+v, %v", got, want, err)
		}
		allowed[got.Send.Allowed]++
		allowed[got.Spawn.Allowed]++
		if row := matrix(" SEUM ", 1); i/3 == 1 && (row.Policies[i%3] != want || row.Truncated || len(row.Policies) != 3 || len(row.Agents) != 3) {
			t.Errorf("alone: %+v, want %+v", row, want)
		}
	}
	if allowed[true] != 4+6 || allowed[false] != 5+3 {
		t.Errorf("allowed: %v", allowed)
	}
	if m = matrix("", 2); !m.Truncated || m.Count != 3 || len(m.Agents) != 2 || len(m.Policies) != 4 {
		t.Errorf("cut: %+v", m)
	}
	if _, err := access.ExplainAll(c, "edenn", 3); err == nil {
		t.Error("an agent that is not configured has a row")
	}
	c.Agents = nil
	if m = matrix("", 2); m.Truncated || m.Count != 0 || m.Agents == nil || m.Policies == nil {
		t.Errorf("without agents: %+v", m)
	}
}

func withoutTexts(p policy.Policy) policy.Policy {
	short := func(v policy.Verdict) policy.Verdict { return policy.Verdict{Allowed: v.Allowed, Rule: v.Rule} }
	return policy.Policy{From: p.From, To: p.To, Send: short(p.Send), Spawn: short(p.Spawn), Visible: short(p.Visible)}
}

// An agent without the tool may not do what it is for, whatever the other rules say, and is told which setting keeps it from having it.
func TestPolicyKnowsWhoHasTheTools(t *testing.T) {
	t.Parallel()
	const (
		send  = `sessions_send`
		agent = "agents.entries.eden.tools."
	)
	for name, test := range map[string]struct {
		everybody, own config.ToolPolicy
		lacks          string // send, spawn, visible
		why, hint      string // of the first
	}{
		"nothing":          {},
		"denied to all":    {everybody: config.ToolPolicy{Deny: []string{"*_send"}}, lacks: "send", why: "tools.deny names it", hint: "remove what names sessions_send from tools.deny"},
		"denied to it":     {own: config.ToolPolicy{Deny: []string{send}}, lacks: "send", why: agent + "deny names it", hint: agent + "deny"},
		"not allowed":      {everybody: config.ToolPolicy{Allow: []string{"task_*", "sessions_spawn"}}, lacks: "send visible", why: "tools.allow does not name it", hint: `add "sessions_send" to tools.allow`},
		"not allowed here": {own: config.ToolPolicy{Allow: []string{"group:tasks"}}, lacks: "send spawn visible", why: agent + "allow does not name it", hint: `add "sessions_send" to ` + agent + "allow"},
		"profile":          {everybody: config.ToolPolicy{Profile: "messaging"}, lacks: "spawn", why: `tools.profile is "messaging"`, hint: `add "sessions_spawn" to tools.alsoAllow`},
		"own profile":      {own: config.ToolPolicy{Profile: "minimal", AlsoAllow: []string{"sessions_history"}}, lacks: "send spawn", why: agent + `profile is "minimal"`, hint: `add "sessions_send" to ` + agent + "alsoAllow"},
		"one of the lists": {everybody: config.ToolPolicy{Deny: []string{"sessions_list"}}},
	} {
		c := config.Default()
		c.Agents = []config.Agent{{ID: "eden", AllowAgents: []string{"*"}, Tools: test.own}, {ID: "seum"}}
		c.Tools.Visibility, c.Tools.AgentToAgent.Enabled, c.Tools.ToolPolicy = "all", true, test.everybody
		for _, to := range []string{"eden", "seum"} {
			p, err := access.Explain(c, "eden", to)
			if err != nil {
				t.Fatal(err)
			}
			var lacks []string
			for _, one := range []struct {
				what string
				said policy.Verdict
			}{{"send", p.Send}, {"spawn", p.Spawn}, {"visible", p.Visible}} {
				if one.said.Rule != policy.RuleToolPolicy {
					continue
				}
				if len(lacks) == 0 && (one.said.Allowed || !strings.HasPrefix(one.said.Why, "eden does not have sessions_") ||
					!strings.HasSuffix(one.said.Why, ": "+test.why) || !strings.HasSuffix(one.said.Hint, test.hint)) {
					t.Errorf("%s: %+v", name, one.said)
				}
				lacks = append(lacks, one.what)
			}
			if strings.Join(lacks, " ") != test.lacks {
				t.Errorf("%s, towards %s: it lacks %q, want %q", name, to, lacks, test.lacks)
			}
		}
	}
}

// An agent that is not configured is refused with a suggestion; without configured agents any is accepted.
func TestPolicyKnowsTheAgents(t *testing.T) {
	t.Parallel()
	c := config.Default()
	if p, err := access.Explain(c, "anybody", "Main"); err != nil || p.From != "anybody" || p.To != "main" {
		t.Errorf("%+v, %v", p, err)
	}
	c.Agents = []config.Agent{{ID: "eden"}, {ID: "seum"}}
	for ids, want := range map[[2]string]policy.NoAgentError{
		{"eden", "seumm"}:  {Field: "to", ID: "seumm", Hint: `did you mean "seum"? name one of the configuration: eden, seum`},
		{"dajim", "eden"}:  {Field: "from", ID: "dajim", Hint: "name one of the configuration: eden, seum"},
		{"No Body", "x"}:   {Field: "from", ID: "No Body", Hint: "use a-z, 0-9, _ and -, with a letter or digit first, at most 64"},
		{" eden ", "../x"}: {Field: "to", ID: "../x", Hint: "use a-z, 0-9, _ and -, with a letter or digit first, at most 64"},
	} {
		_, err := access.Explain(c, ids[0], ids[1])
		refused, ok := errors.AsType[*policy.NoAgentError](err)
		if !ok || refused.Field != want.Field || refused.ID != want.ID || refused.Hint != want.Hint || refused.Text == "" {
			t.Errorf("%q: %+v", ids, err)
		}
	}
	if _, err := access.Explain(c, "eden", strings.Repeat("가", 5_000)); err == nil || len(err.Error()) > 500 {
		t.Errorf("an id of 5,000 characters: %d bytes", len(err.Error()))
	}
	for i := range 100 {
		c.Agents = append(c.Agents, config.Agent{ID: fmt.Sprintf("Agent%02d", i)})
	}
	_, err := access.Explain(c, "eden", "zzz")
	refused, ok := errors.AsType[*policy.NoAgentError](err)
	if !ok || len(refused.Known) != 102 || refused.Known[2] != "agent00" || !strings.HasSuffix(refused.Hint, "agent16, agent17, …") {
		t.Errorf("one of many agents: %+v", refused)
	}
}

// large is a configuration of 50 agents with 2,500 pairs, of which each agent has 50.
func large() *config.Config {
	c := config.Default()
	c.Tools.AgentToAgent.Enabled, c.Tools.Visibility = true, "all"
	for i := range 50 {
		c.Agents = append(c.Agents, config.Agent{ID: fmt.Sprintf("Agent%02d", i)})
		for k := range 50 {
			c.Tools.AgentToAgent.Pairs = append(c.Tools.AgentToAgent.Pairs, config.AgentPair{From: c.Agents[i].ID, To: fmt.Sprintf("agent%02d", k), Allow: k%2 == 0})
		}
	}
	return c
}

// The rules are converted once for the matrix and not for each cell, of which there are 2,500.
func TestMatrixConvertsItsRulesOnce(t *testing.T) { // not parallel: it counts allocations
	c := large()
	if n := testing.AllocsPerRun(1, func() { _, _ = access.ExplainAll(c, "", 50) }); n > 250_000 {
		t.Errorf("%.0f allocations", n)
	}
}

func BenchmarkMatrix(b *testing.B) {
	c := large()
	for b.Loop() {
		if m, err := access.ExplainAll(c, "", 50); err != nil || len(m.Policies) != 2_500 {
			b.Fatal(len(m.Policies), err)
		}
	}
}
