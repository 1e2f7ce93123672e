package policy_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination/policy"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	on := func(pairs []policy.Pair, allow ...string) policy.AgentToAgent {
		return policy.AgentToAgent{Enabled: true, Allow: allow, Pairs: pairs}
	}
	const (
		off    = "agents do not reach each other: tools.agentToAgent.enabled is false"
		enable = "set tools.agentToAgent.enabled to true"
		anyone = "all agents reach each other: tools.agentToAgent.allow names none"
	)
	oneWay := []policy.Pair{{From: "eden", To: "seum", Allow: true}, {From: "*", To: "seum"}}
	for name, c := range map[string]struct {
		rules    policy.AgentToAgent
		from, to string
		want     policy.Verdict
	}{
		"off":                     {policy.AgentToAgent{Allow: []string{"*"}}, "eden", "seum", policy.Verdict{Rule: "disabled", Why: off, Hint: enable}},
		"off, whatever pairs say": {policy.AgentToAgent{Pairs: oneWay}, "eden", "seum", policy.Verdict{Rule: "disabled", Why: off, Hint: enable}},
		"oneself":                 {on([]policy.Pair{{From: "*", To: "*"}}, "x"), "eden", " EDEN", policy.Verdict{Allowed: true, Rule: "same_agent", Why: "every agent reaches itself"}},
		"open":                    {on(nil), "eden", "seum", policy.Verdict{Allowed: true, Rule: "open", Why: anyone}},
		"both named":              {on(nil, "EDEN", "S*"), "eden", "seum", policy.Verdict{Allowed: true, Rule: "allow_list", Why: "tools.agentToAgent.allow names eden and seum"}},
		"from is not named": {on(nil, "seum"), "eden", "seum", policy.Verdict{Rule: "allow_list", Why: "agent eden is not named by tools.agentToAgent.allow",
			Hint: `add "eden" to tools.agentToAgent.allow, or {from: "eden", to: "seum", allow: true} to tools.agentToAgent.pairs`}},
		"to is not named": {on(nil, "eden"), "eden", "seum", policy.Verdict{Rule: "allow_list", Why: "agent seum is not named by tools.agentToAgent.allow",
			Hint: `add "seum" to tools.agentToAgent.allow, or {from: "eden", to: "seum", allow: true} to tools.agentToAgent.pairs`}},
		"a pair, past the list": {on(oneWay, "nix"), "Eden", "Seum", policy.Verdict{Allowed: true, Rule: "pair", Why: "tools.agentToAgent.pairs[0] lets Eden reach Seum"}},
		"a pair forbids": {on(oneWay), "dajim", "seum", policy.Verdict{Rule: "pair", Why: "tools.agentToAgent.pairs[1] does not let dajim reach seum",
			Hint: `put {from: "dajim", to: "seum", allow: true} before it`}},
		"the other direction":            {on(oneWay), "seum", "eden", policy.Verdict{Allowed: true, Rule: "open", Why: anyone}},
		"the other direction, by a list": {on(oneWay, "eden"), "seum", "eden", on(nil, "eden").Judge("seum", "eden")},
		"the first pair decides": {on([]policy.Pair{{From: "e*", To: "*"}, {From: "eden", To: "seum", Allow: true}}), "eden", "seum", policy.Verdict{Rule: "pair",
			Why: "tools.agentToAgent.pairs[0] does not let eden reach seum", Hint: `put {from: "eden", to: "seum", allow: true} before it`}},
		"a pair without names": {on([]policy.Pair{{}}), "eden", "seum", policy.Verdict{Allowed: true, Rule: "open", Why: anyone}},
	} {
		if got := c.rules.Judge(c.from, c.to); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPatternsOfAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, agent string
		fits           bool
	}{
		{"*", "eden", true}, {"**", "eden", true}, {" Eden ", "eden", true}, {"eden", "edens", false}, {"edens", "eden", false}, {"", "eden", false},
		{"e*", "eden", true}, {"*n", "eden", true}, {"e*n", "eden", true}, {"e*e*n", "eden", true}, {"*d*", "eden", true}, {"e*d*d*n", "eden", false}, {"ede*den", "eden", false},
		{"d*", "eden", false}, {"*d", "eden", false}, {"worker-*-x", "worker-1-x", true}, {"worker-*-x", "worker-x", false}, {"e?en", "eden", false}, {"e.en", "eden", false},
	} {
		v := policy.AgentToAgent{Enabled: true, Pairs: []policy.Pair{{From: c.pattern, To: "*"}}}.Judge(c.agent, "other")
		if v.Allowed == c.fits {
			t.Errorf("%q, %s: %+v", c.pattern, c.agent, v)
		}
	}
}
