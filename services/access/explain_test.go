package access_test

import (
	"errors"
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
			if told = append(told, may+v.Rule); v.Why == "" || v.Allowed == (v.Hint != "") {
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

// The matrix says of each two agents, also of an agent and itself, what the single question says.
func TestMatrixIsWhatSingleQuestionsSay(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Agents = []config.Agent{{ID: "Eden", AllowAgents: []string{"seum"}}, {ID: "seum", AllowAgents: []string{"*"}}, {ID: "ruda"}}
	c.Tools.Visibility = "all"
	c.Tools.AgentToAgent = config.AgentToAgent{Enabled: true, Allow: []string{"eden", "seum"}, Pairs: []config.AgentPair{{From: "seum", To: "eden"}}}
	m := access.ExplainAll(c, 3)
	if m.Truncated || m.Count != 3 || strings.Join(m.Agents, " ") != "eden seum ruda" || len(m.Policies) != 9 {
		t.Fatalf("%+v", m)
	}
	allowed := map[bool]int{}
	for i, got := range m.Policies {
		want, err := access.Explain(c, m.Agents[i/3], m.Agents[i%3])
		if err != nil || got != want {
			t.Errorf("%+v, want %+v, %v", got, want, err)
		}
		allowed[got.Send.Allowed]++
		allowed[got.Spawn.Allowed]++
	}
	if allowed[true] != 4+6 || allowed[false] != 5+3 {
		t.Errorf("allowed: %v", allowed)
	}
	if m = access.ExplainAll(c, 2); !m.Truncated || m.Count != 3 || len(m.Agents) != 2 || len(m.Policies) != 4 {
		t.Errorf("cut: %+v", m)
	}
	c.Agents = nil
	if m = access.ExplainAll(c, 2); m.Truncated || m.Count != 0 || m.Agents == nil || m.Policies == nil {
		t.Errorf("without agents: %+v", m)
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
}
