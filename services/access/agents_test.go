package access_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/services/access"
)

func TestWhoMayReachWhom(t *testing.T) {
	t.Parallel()
	oneWay := []config.AgentPair{{From: "eden", To: "seum", Allow: true}, {From: "*", To: "se*"}}
	on := func(allow ...string) config.AgentToAgent { return config.AgentToAgent{Enabled: true, Allow: allow} }
	for name, c := range map[string]struct {
		policy   config.AgentToAgent
		from, to string
		may      bool
	}{
		"off":                        {config.AgentToAgent{Allow: []string{"*"}}, "eden", "seum", false},
		"oneself, off":               {config.AgentToAgent{}, "eden", "Eden", true},
		"oneself, not named":         {on("seum"), "eden", "eden", true},
		"on, no agent named":         {on(), "eden", "seum", true},
		"both named":                 {on("seum", "eden"), "eden", "seum", true},
		"capitals":                   {on("SEUM", "Eden"), "eden", "seum", true},
		"anybody":                    {on("*"), "eden", "seum", true},
		"part of a name":             {on("e*", "*m"), "eden", "seum", true},
		"only who asks is named":     {on("eden"), "eden", "seum", false},
		"only who is asked is named": {on("seum"), "eden", "seum", false},
		"a longer name":              {on("eden", "seu"), "eden", "seum", false},
		"a pair, off":                {config.AgentToAgent{Pairs: oneWay}, "eden", "seum", false},
		"a pair allows":              {config.AgentToAgent{Enabled: true, Allow: []string{"main"}, Pairs: oneWay}, "eden", "seum", true},
		"a pair forbids":             {config.AgentToAgent{Enabled: true, Pairs: oneWay}, "dajim", "seum", false},
		"the other way":              {config.AgentToAgent{Enabled: true, Pairs: oneWay}, "seum", "eden", true},
		"the other way, by the list": {config.AgentToAgent{Enabled: true, Allow: []string{"eden"}, Pairs: oneWay}, "seum", "eden", false},
	} {
		if why := access.DenyAgents(c.policy, c.from, c.to); (why == "") != c.may {
			t.Errorf("%s: %q", name, why)
		}
	}
}

func TestWhoMayStartWhom(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Agents = []config.Agent{{ID: "Eden", AllowAgents: []string{"Seum "}}, {ID: "main", AllowAgents: []string{"*"}}, {ID: "seum", AllowAgents: []string{"e*"}}}
	for _, pair := range []struct {
		from, to string
		may      bool
	}{{"eden", "seum", true}, {"eden", "main", false}, {"eden", "eden", true}, {"main", "ghost", true}, {"seum", "eden", false}, {"ghost", "eden", false}} {
		if why := access.DenySpawn(c, pair.from, pair.to); (why == "") != pair.may {
			t.Errorf("%s to %s: %q", pair.from, pair.to, why)
		}
	}
}
