package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
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
	c.Tools.TaskEnforcer = TaskEnforcer{Enabled: enforcer.flag("enabled", false), Tools: enforcer.toolNames("tools", guarded()...)}
	enforcer.done()
	gate := f.within("planGate")
	c.Tools.PlanGate = PlanGate{Enabled: gate.flag("enabled", false), Tools: gate.toolNames("tools", guarded()...)}
	gate.done()
	c.Tools.Approvals = decodeCallApprovals(f.within("approvals"))
	c.Tools.Exec = decodeExec(f.within("exec"))
	c.Tools.Web = decodeWeb(f.within("web"))
	c.Tools.ToolPolicy = decodeToolPolicy(f)
	f.others("media", "links", "message", "elevated", "fs", "loopDetection", "sandbox", "sessions_spawn", "experimental", "codeMode",
		"toolSearch", "updatePlan", "github", "swarm")
	f.done()
}

// guarded lists the tools that change something or run commands: what a task or a plan is required for by default.
func guarded() []string {
	return []string{"write", "edit", "apply_patch", "bash", tool.NameExec, "group:" + tool.GroupMCPChanges}
}

// decodeExec reads how commands are run.
func decodeExec(f *fields) Exec {
	e := Exec{Sandbox: f.choice("sandbox", SandboxAuto, "bubblewrap", "landlock", SandboxContainer, SandboxOff), Image: f.text("image", ""), Network: f.flag("network", false),
		Timeout: time.Duration(f.count("timeoutSec", 1800, 0, maxCount)) * time.Second, Env: f.texts("env"),
		Disk: int64(f.count("diskMegabytes", 8<<10, 1, maxCount)) << 20}
	f.others("host", "mode", "security", "ask", "node", "pathPrepend", "safeBins", "safeBinTrustedDirs", "safeBinProfiles", "strictInlineEval", "reviewer",
		"commandHighlighting", "backgroundMs", "approvalRunningNoticeMs", "cleanupMs", "notifyOnExit", "notifyOnExitEmptySuccess", "applyPatch")
	f.done()
	return e
}

// decodeWeb reads how agents reach the web.
func decodeWeb(f *fields) (w Web) {
	fetch := f.within("fetch")
	w.Fetch = WebFetch{AllowHosts: fetch.texts("allowHosts"), Robots: fetch.flag("robots", true),
		Timeout: time.Duration(fetch.count("timeoutSeconds", 30, 1, 600)) * time.Second}
	fetch.others("enabled", "provider", "maxChars", "maxCharsCap", "maxResponseBytes", "cacheTtlMinutes", "maxRedirects", "userAgent", "readability", "useTrustedEnvProxy",
		"ssrfPolicy", "firecrawl")
	fetch.done()
	search := f.within("search")
	w.Search = WebSearch{Provider: search.searchProvider(), APIKey: search.secret("apiKey"), BaseURL: search.text("baseUrl", "")}
	if v := search.object.get("provider"); w.Search.Provider == SearchSearXNG && w.Search.BaseURL == "" {
		search.report.add(warning(CodeValue, v.at, search.at.member("baseUrl"), "searxng needs it; agents cannot search the web", "set it to the address of the instance"))
		w.Search.Provider = ""
	}
	search.others("enabled", "maxResults", "timeoutSeconds", "cacheTtlMinutes", "openaiCodex", "perplexity", "grok", "gemini", "kimi", "brave")
	search.done()
	f.others("x_search")
	f.done()
	return w
}

// searchProvider reads who searches the web. One that openclawd does not know would get a question and a key that are not meant for it, so there is
// none then.
func (f *fields) searchProvider() string {
	const key = "provider"
	all := []string{SearchBrave, SearchSearXNG}
	f.schema.member(key).is("string").oneOf(all)
	name := f.text(key, "")
	if name == "" || slices.Contains(all, name) {
		return name
	}
	v := f.object.get(key)
	one := warning(CodeValue, v.at, f.at.member(key), v.shown()+" is not a provider that openclawd knows; agents cannot search the web", "use "+oneOf(all))
	one.Value = v.shown()
	f.report.add(one)
	return ""
}

// toolNames reads tools that are restricted by a condition: names, patterns and groups. An entry that is none of them would leave tools
// unrestricted, so it is a warning.
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
		one := warning(CodeValue, item.at, f.at.member(key).item(i), item.shown()+" is not a tool name, pattern or group and restricts no tool",
			"name tools, or groups such as group:fs")
		one.Value = item.shown()
		f.report.add(one)
	}
	return names
}

// isToolName reports whether a text can name tools: a group, or a name with letters in any case, digits, _, - and dots, where * stands for any.
func isToolName(name string) bool {
	if group, is := strings.CutPrefix(strings.ToLower(name), "group:"); is {
		return tool.IsGroup(group)
	}
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.*", r)
	})
}

// decodePair reads a rule, which must be complete: a forbidding rule must not be lost to a typing error.
func decodePair(f *fields) AgentPair {
	p := AgentPair{From: f.text("from", ""), To: f.text("to", ""), Allow: f.flag("allow", false)}
	f.needs("from", "to", "allow")
	f.done()
	return p
}

func decodeAgentTools(f *fields) ToolPolicy {
	p := decodeToolPolicy(f)
	f.others("elevated", "exec", "fs", "loopDetection", "sandbox", "message", "media", "web", "links", "experimental", "codeMode", "sessions",
		"agentToAgent", "toolSearch", "updatePlan", "github", "swarm")
	f.done()
	return p
}

// decodeToolPolicy reads a policy of agents' tools. Unsupported settings that would forbid tools are warnings, so that
// no one relies on them.
func decodeToolPolicy(f *fields) ToolPolicy {
	p := decodePolicy(f)
	p.Profile, p.AlsoAllow = f.profile("profile"), f.texts("alsoAllow")
	if f.object.get("alsoAllow") != nil && p.AlsoAllow == nil {
		p.AlsoAllow = []string{}
	}
	for _, key := range []string{"byProvider", "toolsBySender", "subagents"} {
		f.knows(key)
		if v := f.object.get(key); v != nil {
			f.report.add(warning(CodeValue, v.at, f.at.member(key), "openclawd does not support this: it forbids no tool",
				"use profile, allow and deny to restrict the agents' tools"))
		}
	}
	return p
}

func decodePolicy(f *fields) ToolPolicy {
	return ToolPolicy{Allow: f.texts("allow"), Deny: f.texts("deny")}
}

// profile reads a profile's name. An unknown one is treated as the smallest, since the intention was to restrict.
func (f *fields) profile(key string) string {
	all := []string{ProfileMinimal, ProfileMessaging, ProfileCoding, ProfileFull}
	f.schema.member(key).is("string").oneOf(all)
	name := f.text(key, "")
	if name == "" || slices.Contains(all, name) {
		return name
	}
	hint := "use " + oneOf(all)
	if near := nearest(name, all); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	v := f.object.get(key)
	one := warning(CodeValue, v.at, f.at.member(key), v.shown()+" is not a profile; it is treated as "+ProfileMinimal, hint)
	one.Value = v.shown()
	f.report.add(one)
	return ProfileMinimal
}
