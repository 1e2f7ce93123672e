package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
)

func (c *Config) decodeTools(f *fields) {
	a2a := f.within("agentToAgent")
	c.Tools.AgentToAgent = AgentToAgent{Enabled: a2a.flag("enabled", false), Allow: a2a.texts("allow")}
	a2a.each("pairs", func(f *fields) {
		c.Tools.AgentToAgent.Pairs = append(c.Tools.AgentToAgent.Pairs, decodePair(f))
	})
	a2a.done()
	sessions := f.within("sessions")
	c.Tools.Visibility = sessions.choice("visibility", "tree", "self", "agent", "all")
	sessions.done()
	enforcer := f.within("taskEnforcer")
	c.Tools.TaskEnforcer = TaskEnforcer{Enabled: enforcer.flag("enabled", false), Tools: enforcer.toolNames("tools", "write", "edit", "bash", "exec")}
	enforcer.done()
	gate := f.within("planGate")
	c.Tools.PlanGate = PlanGate{Enabled: gate.flag("enabled", false), Tools: gate.toolNames("tools", "write", "edit", "bash", "exec")}
	gate.done()
	c.Tools.ToolPolicy = decodeToolPolicy(f)
	f.others("web", "media", "links", "message", "elevated", "exec", "fs", "loopDetection", "sandbox", "sessions_spawn", "experimental", "codeMode",
		"toolSearch", "updatePlan", "github", "swarm")
	f.done()
}

// toolNames reads which tools are called on a condition. What cannot be the name of one, as a pattern or a group, would leave tools open that somebody
// means to close: it is warned of.
func (f *fields) toolNames(key string, otherwise ...string) []string {
	names := f.textsOr(key, otherwise...)
	for i, name := range names {
		names[i] = coordination.TrimJS(name)
	}
	given := f.object.get(key)
	if given == nil || given.kind != list {
		return names
	}
	for i, item := range given.items {
		if item.kind != text || isToolName(coordination.TrimJS(item.text)) {
			continue
		}
		one := warning(CodeValue, item.at, f.at.member(key).item(i), item.shown()+" is no name of a tool; it closes none", "name tools one by one")
		one.Value = item.shown()
		f.report.add(one)
	}
	return names
}

// isToolName reports whether a text can be the name of a tool: letters, digits, _, - and dots, whatever their capitals.
func isToolName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	})
}

// decodePair reads a rule that has to be whole: one that forbids must not be lost because of a slip.
func decodePair(f *fields) AgentPair {
	p := AgentPair{From: f.text("from", ""), To: f.text("to", ""), Allow: f.flag("allow", false)}
	f.needs("from", "to", "allow")
	f.done()
	return p
}

// decodeAgentTools reads what holds for one agent.
func decodeAgentTools(f *fields) ToolPolicy {
	p := decodeToolPolicy(f)
	f.others("elevated", "exec", "fs", "loopDetection", "sandbox", "message", "media", "web", "links", "experimental", "codeMode", "sessions",
		"agentToAgent", "toolSearch", "updatePlan", "github", "swarm")
	f.done()
	return p
}

// decodeToolPolicy reads a policy of agents' tools. What else would forbid tools, were it heeded, is warned of: nobody shall rely on it.
func decodeToolPolicy(f *fields) ToolPolicy {
	p := decodePolicy(f)
	p.Profile, p.AlsoAllow = f.profile("profile"), f.texts("alsoAllow")
	if f.object.get("alsoAllow") != nil && p.AlsoAllow == nil {
		p.AlsoAllow = []string{}
	}
	for _, key := range []string{"byProvider", "toolsBySender", "subagents"} {
		f.knows(key)
		if v := f.object.get(key); v != nil {
			f.report.add(warning(CodeValue, v.at, f.at.member(key), "openclawd does not heed this: it forbids no tool here",
				"say with profile, allow and deny what agents may use"))
		}
	}
	return p
}

func decodePolicy(f *fields) ToolPolicy {
	return ToolPolicy{Allow: f.texts("allow"), Deny: f.texts("deny")}
}

// profile reads the name of a profile. One that is not known stands for the smallest: whoever wrote it wanted to forbid something.
func (f *fields) profile(key string) string {
	all := []string{ProfileMinimal, ProfileMessaging, ProfileCoding, ProfileFull}
	f.schema.member(key).is("string").oneOf(all)
	name := f.text(key, "")
	if name == "" || slices.Contains(all, name) {
		return name
	}
	mend := "use " + oneOf(all)
	if near := nearest(name, all); near != "" {
		mend = fmt.Sprintf("did you mean %q? %s", near, mend)
	}
	v := f.object.get(key)
	one := warning(CodeValue, v.at, f.at.member(key), v.shown()+" is no profile; it is taken for "+ProfileMinimal, mend)
	one.Value = v.shown()
	f.report.add(one)
	return ProfileMinimal
}
