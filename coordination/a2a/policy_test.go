package a2a_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination/a2a"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	on := func(pairs []a2a.Pair, allow ...string) a2a.Policy {
		return a2a.Policy{Enabled: true, Allow: allow, Pairs: pairs}
	}
	const (
		off    = "agents do not reach each other: tools.agentToAgent.enabled is false"
		enable = "set tools.agentToAgent.enabled to true"
		anyone = "all agents reach each other: tools.agentToAgent.allow names none"
	)
	oneWay := []a2a.Pair{{From: "eden", To: "seum", Allow: true}, {From: "*", To: "seum"}}
	for name, c := range map[string]struct {
		policy   a2a.Policy
		from, to string
		want     a2a.Verdict
	}{
		"off":                     {a2a.Policy{Allow: []string{"*"}}, "eden", "seum", a2a.Verdict{Rule: "disabled", Why: off, Mend: enable}},
		"off, whatever pairs say": {a2a.Policy{Pairs: oneWay}, "eden", "seum", a2a.Verdict{Rule: "disabled", Why: off, Mend: enable}},
		"oneself":                 {on([]a2a.Pair{{From: "*", To: "*"}}, "x"), "eden", " EDEN", a2a.Verdict{Allowed: true, Rule: "same_agent", Why: "every agent reaches itself"}},
		"open":                    {on(nil), "eden", "seum", a2a.Verdict{Allowed: true, Rule: "open", Why: anyone}},
		"both named":              {on(nil, "EDEN", "S*"), "eden", "seum", a2a.Verdict{Allowed: true, Rule: "allow_list", Why: "tools.agentToAgent.allow names eden and seum"}},
		"from is not named": {on(nil, "seum"), "eden", "seum", a2a.Verdict{Rule: "allow_list", Why: "agent eden is not named by tools.agentToAgent.allow",
			Mend: `add "eden" to tools.agentToAgent.allow, or {from: "eden", to: "seum", allow: true} to tools.agentToAgent.pairs`}},
		"to is not named": {on(nil, "eden"), "eden", "seum", a2a.Verdict{Rule: "allow_list", Why: "agent seum is not named by tools.agentToAgent.allow",
			Mend: `add "seum" to tools.agentToAgent.allow, or {from: "eden", to: "seum", allow: true} to tools.agentToAgent.pairs`}},
		"a pair, past the list": {on(oneWay, "nobody"), "Eden", "Seum", a2a.Verdict{Allowed: true, Rule: "pair", Why: "tools.agentToAgent.pairs[0] lets Eden reach Seum"}},
		"a pair forbids": {on(oneWay), "dajim", "seum", a2a.Verdict{Rule: "pair", Why: "tools.agentToAgent.pairs[1] does not let dajim reach seum",
			Mend: `put {from: "dajim", to: "seum", allow: true} before it`}},
		"the other direction":            {on(oneWay), "seum", "eden", a2a.Verdict{Allowed: true, Rule: "open", Why: anyone}},
		"the other direction, by a list": {on(oneWay, "eden"), "seum", "eden", on(nil, "eden").Judge("seum", "eden")},
		"the first pair decides": {on([]a2a.Pair{{From: "e*", To: "*"}, {From: "eden", To: "seum", Allow: true}}), "eden", "seum", a2a.Verdict{Rule: "pair",
			Why: "tools.agentToAgent.pairs[0] does not let eden reach seum", Mend: `put {from: "eden", to: "seum", allow: true} before it`}},
		"a pair that names nobody": {on([]a2a.Pair{{}}), "eden", "seum", a2a.Verdict{Allowed: true, Rule: "open", Why: anyone}},
	} {
		if got := c.policy.Judge(c.from, c.to); got != c.want {
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
		v := a2a.Policy{Enabled: true, Pairs: []a2a.Pair{{From: c.pattern, To: "*"}}}.Judge(c.agent, "somebody")
		if v.Allowed == c.fits {
			t.Errorf("%q, %s: %+v", c.pattern, c.agent, v)
		}
	}
}
