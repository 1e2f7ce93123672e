package tools_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// modelAllows is a second implementation of policies: with shell patterns, one rule after the other.
func modelAllows(p config.ToolPolicy, name, group string) bool {
	hit := func(list []string) bool {
		for _, pattern := range list {
			pattern = strings.ToLower(strings.TrimSpace(pattern))
			if pattern == "group:openclaw" || pattern == "group:"+group {
				return true
			}
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
		return false
	}
	if hit(p.Deny) {
		return false
	}
	return len(p.Allow) == 0 || hit(p.Allow)
}

// Who may call what, over all kinds of sessions, ways in and policies: what is offered is what can be called, and both are as the model says.
//
// Promise: tool-policy
func TestPolicyMatrix(t *testing.T) {
	t.Parallel()
	wide := echo("agents_list", "agents", anything)
	kind := echo("sessions_list", "sessions", anything)
	kind.Who.NotFrom = []coordination.KeyKind{coordination.KeySubagent, coordination.KeyCron}
	entry := echo("cron", "automation", anything)
	entry.Who.NotBy = []tool.Entry{tool.ByCLI}
	utility := echo("sessions_spawn", "sessions", anything)
	utility.Who.NotUtility = true
	all := []tools.Tool{wide, kind, entry, utility}

	policies := []config.ToolPolicy{
		{}, {Allow: []string{"*"}}, {Deny: []string{"*"}}, {Allow: []string{"*"}, Deny: []string{"*"}}, {Allow: []string{"nothing"}},
		{Allow: []string{"group:sessions"}}, {Deny: []string{" GROUP:Sessions "}}, {Allow: []string{"sessions_*", "cron"}},
		{Allow: []string{"group:sessions"}, Deny: []string{"*_spawn"}}, {Allow: []string{"s*s_*t"}}, {Allow: []string{"group:openclaw"}, Deny: []string{"cron"}},
		{Allow: []string{"group:"}}, {Allow: []string{"Agents_List"}}, {Deny: []string{"", "group:x"}},
	}
	gateways := []config.ToolPolicy{{}, {Allow: []string{"sessions_spawn"}}, {Deny: []string{"agents_*"}}, {Allow: []string{"*"}, Deny: []string{"group:sessions"}}}
	keys := map[coordination.KeyKind]string{
		coordination.KeyMain: "agent:%s:main", coordination.KeySubagent: "agent:%s:subagent:1", coordination.KeyA2A: "agent:%s:a2a:1",
		coordination.KeyCron: "agent:%s:cron:1", coordination.KeyChannel: "agent:%s:discord:channel:1", coordination.KeyAlias: "global",
	}
	judged := 0
	for _, everybody := range policies {
		for _, own := range policies {
			conf := config.Default()
			conf.Tools.ToolPolicy = everybody
			conf.Agents = []config.Agent{{ID: "Eden", Tools: own}, {ID: "quick", Utility: true}, {ID: "explorer", Kind: coordination.KindUtility}}
			for _, gate := range gateways {
				conf.Gateway.Tools = gate
				r, _ := setup(t, func(c *config.Config) { *c = *conf }, all...)
				for kind, key := range keys {
					for _, by := range []tool.Entry{tool.ByRun, tool.ByHTTP, tool.ByWire, tool.ByCLI} {
						for _, agent := range []string{"eden", "quick", "explorer", "stranger"} {
							c := tool.Caller{Entry: by, AgentID: agent, SessionKey: key}
							if strings.Contains(key, "%") {
								c.SessionKey = fmt.Sprintf(key, agent)
							}
							var want []string
							for _, one := range all {
								over := by == tool.ByHTTP || by == tool.ByWire
								usually := one.Name == "sessions_spawn" || one.Name == "cron"
								opened := len(gate.Allow) > 0 && modelAllows(config.ToolPolicy{Allow: gate.Allow}, one.Name, one.Group)
								switch {
								case slices.Contains(one.Who.NotFrom, kind), slices.Contains(one.Who.NotBy, by):
								case one.Who.NotUtility && (agent == "quick" || agent == "explorer"):
								case !modelAllows(everybody, one.Name, one.Group):
								case agent == "eden" && !modelAllows(own, one.Name, one.Group):
								case over && !modelAllows(config.ToolPolicy{Deny: gate.Deny}, one.Name, one.Group):
								case by == tool.ByHTTP && usually && !opened:
								default:
									want = append(want, one.Name)
								}
							}
							slices.Sort(want)
							var got []string
							for _, s := range r.Offer(c) {
								got = append(got, s.Name)
							}
							if judged++; !slices.Equal(got, want) {
								t.Fatalf("%s of %s by %s, tools %+v, own %+v, gateway %+v: offered are %v, want %v", kind, agent, by, everybody, own, gate, got, want)
							}
							if judged%5 != 0 { // calling costs more
								continue
							}
							for _, one := range all {
								if _, err := r.Call(t.Context(), c, one.Name, nil); (err == nil) != slices.Contains(want, one.Name) {
									t.Fatalf("%s of %s by %s: calling %s gives %v", kind, agent, by, one.Name, err)
								}
							}
						}
					}
				}
			}
		}
	}
	if judged < 10_000 {
		t.Errorf("only %d callers were judged", judged)
	}
}

// Tools that make agents act are not called over HTTP unless the configuration allows it. What it denies is denied to every client.
func TestHTTPHasNotEverything(t *testing.T) {
	t.Parallel()
	var list []tools.Tool
	for _, name := range []string{"sessions_spawn", "sessions_send", "sessions_broadcast", "collaborate", "task_verify", "task_approve", "task_reject",
		"plan_approve", "plan_reject", "cron", "gateway", "agents_list"} {
		list = append(list, echo(name, "x", anything))
	}
	for by, want := range map[tool.Entry][2]string{
		tool.ByHTTP: {"x/agents_list", "x/sessions_send"},
		tool.ByWire: {"x/agents_list x/collaborate x/cron x/gateway x/plan_approve x/plan_reject x/sessions_broadcast x/sessions_send x/sessions_spawn x/task_approve " +
			"x/task_reject x/task_verify",
			"x/collaborate x/cron x/gateway x/plan_approve x/plan_reject x/sessions_broadcast x/sessions_send x/sessions_spawn x/task_approve " +
				"x/task_reject x/task_verify"},
	} {
		c := eden()
		c.Entry = by
		r, _ := setup(t, nil, list...)
		if got := names(r.Offer(c)); got != want[0] {
			t.Errorf("by %s: %s", by, got)
		}
		r, _ = setup(t, func(c *config.Config) {
			c.Gateway.Tools = config.ToolPolicy{Allow: []string{"sessions_send"}, Deny: []string{"agents_list"}}
		}, list...)
		if got := names(r.Offer(c)); got != want[1] {
			t.Errorf("by %s, configured: %s", by, got)
		}
	}
}

// A profile bounds what agents may call. That of an agent replaces the general one, and an additional tool does not get around what is
// allowed or denied to all.
func TestProfiles(t *testing.T) {
	t.Parallel()
	var list []tools.Tool
	for _, one := range []struct{ name, group string }{
		{"agents_list", "agents"}, {"sessions_list", "sessions"}, {"sessions_spawn", "sessions"}, {"session_status", "sessions"},
		{"task_start", "tasks"}, {"plan_submit", "plans"}, {"cron", "automation"},
	} {
		list = append(list, echo(one.name, one.group, anything))
	}
	const all = "agents_list cron plan_submit session_status sessions_list sessions_spawn task_start"
	for name, c := range map[string]struct {
		everybody, own config.ToolPolicy
		want           string
	}{
		"none":                       {want: all},
		"full":                       {everybody: config.ToolPolicy{Profile: "full"}, want: all},
		"minimal":                    {everybody: config.ToolPolicy{Profile: "minimal"}, want: "session_status"},
		"messaging":                  {everybody: config.ToolPolicy{Profile: "messaging"}, want: "session_status sessions_list"},
		"coding":                     {everybody: config.ToolPolicy{Profile: "coding"}, want: "plan_submit session_status sessions_list sessions_spawn task_start"},
		"not known":                  {everybody: config.ToolPolicy{Profile: "research"}, want: "session_status"},
		"the agent's":                {everybody: config.ToolPolicy{Profile: "minimal"}, own: config.ToolPolicy{Profile: "full"}, want: all},
		"only the agent's":           {own: config.ToolPolicy{Profile: "minimal"}, want: "session_status"},
		"beside it":                  {everybody: config.ToolPolicy{Profile: "minimal", AlsoAllow: []string{"group:tasks", "CRON"}}, want: "cron session_status task_start"},
		"beside the agent's":         {everybody: config.ToolPolicy{Profile: "minimal", AlsoAllow: []string{"cron"}}, own: config.ToolPolicy{AlsoAllow: []string{"agents_*"}}, want: "agents_list session_status"},
		"nothing beside the agent's": {everybody: config.ToolPolicy{Profile: "minimal", AlsoAllow: []string{"cron"}}, own: config.ToolPolicy{AlsoAllow: []string{}}, want: "session_status"},
		"beside what is allowed":     {everybody: config.ToolPolicy{Allow: []string{"cron"}, AlsoAllow: []string{"task_start"}}, want: "cron task_start"},
		"beside it, but denied":      {everybody: config.ToolPolicy{Profile: "minimal", AlsoAllow: []string{"*"}, Deny: []string{"c*"}}, want: strings.ReplaceAll(all, "cron ", "")},
		"beside it, but not allowed": {everybody: config.ToolPolicy{Profile: "minimal", Allow: []string{"session_status"}}, own: config.ToolPolicy{AlsoAllow: []string{"*"}}, want: "session_status"},
		"beside nothing":             {everybody: config.ToolPolicy{AlsoAllow: []string{"cron"}}, want: all},
	} {
		r, _ := setup(t, func(conf *config.Config) {
			conf.Tools.ToolPolicy = c.everybody
			conf.Agents = []config.Agent{{ID: "eden", Tools: c.own}}
		}, list...)
		var got []string
		for _, s := range r.Offer(eden()) {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: offered are %v, want %s", name, got, c.want)
		}
	}
}

// A tool may restrict its callers by more than the kind of session.
func TestToolsForbidByWhatTheyKnow(t *testing.T) {
	t.Parallel()
	spawn := echo("sessions_spawn", "sessions", anything)
	spawn.Who.Unless = func(call *tools.Call) bool { return call.Depth >= call.Config.Defaults.Subagents.MaxSpawnDepth }
	r, _ := setup(t, func(conf *config.Config) { conf.Defaults.Subagents.MaxSpawnDepth = 2 }, spawn)
	for depth, may := range []bool{true, true, false, false} {
		c := eden()
		c.SessionKey, c.Depth = "agent:eden:subagent:1", depth
		_, err := r.Call(t.Context(), c, "sessions_spawn", nil)
		if offered := len(r.Offer(c)) == 1; offered != may || (err == nil) != may {
			t.Errorf("at depth %d: offered %v, called %v", depth, offered, err)
		}
	}
}
