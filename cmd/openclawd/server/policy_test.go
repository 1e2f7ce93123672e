package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

// Each verdict names the rule that decides, and one that refuses how to change it.
func TestPolicyNamesItsRules(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Agents = []config.Agent{{ID: "Eden", AllowAgents: []string{"seum"}}, {ID: "seum"}}
	rules := func(from, to string) string {
		t.Helper()
		p, err := Explain(c, from, to)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, v := range []monitor.Verdict{p.Send, p.Spawn, p.Visible} {
			may := "-"
			if v.Allowed {
				may = "+"
			}
			if told = append(told, may+v.Rule); v.Why == "" || v.Allowed == (v.Mend != "") {
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

// An agent that is not configured is refused with what may be meant; where none is configured, any may be.
func TestPolicyKnowsTheAgents(t *testing.T) {
	t.Parallel()
	c := config.Default()
	if p, err := Explain(c, "anybody", "Main"); err != nil || p.From != "anybody" || p.To != "main" {
		t.Errorf("%+v, %v", p, err)
	}
	c.Agents = []config.Agent{{ID: "eden"}, {ID: "seum"}}
	for ids, want := range map[[2]string]monitor.NoAgentError{
		{"eden", "seumm"}:  {Field: "to", ID: "seumm", Mend: `did you mean "seum"? name one of the configuration: eden, seum`},
		{"dajim", "eden"}:  {Field: "from", ID: "dajim", Mend: "name one of the configuration: eden, seum"},
		{"No Body", "x"}:   {Field: "from", ID: "No Body", Mend: "use a-z, 0-9, _ and -, with a letter or digit first, at most 64"},
		{" eden ", "../x"}: {Field: "to", ID: "../x", Mend: "use a-z, 0-9, _ and -, with a letter or digit first, at most 64"},
	} {
		_, err := Explain(c, ids[0], ids[1])
		refused, ok := errors.AsType[*monitor.NoAgentError](err)
		if !ok || refused.Field != want.Field || refused.ID != want.ID || refused.Mend != want.Mend || refused.Text == "" {
			t.Errorf("%q: %+v", ids, err)
		}
	}
	if _, err := Explain(c, "eden", strings.Repeat("가", 5_000)); err == nil || len(err.Error()) > 500 {
		t.Errorf("an id of 5,000 characters: %d bytes", len(err.Error()))
	}
}
