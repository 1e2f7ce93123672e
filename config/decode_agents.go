package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
)

// day is the unit of long durations.
const day = 24 * time.Hour

// mostPasses is the maximum of the loop guard's limits: passes are counted for each message.
const mostPasses = 10_000

// mostAgents is the maximum number of agents. Teams have tens; work per agent at each start and check stays fast with
// this many.
const mostAgents = 1_000

// decodeAgents reads the agents. Since 2026.8.2 OpenClaw has them in agents.entries, by id; before, in
// agents.list.
func (c *Config) decodeAgents(f *fields) {
	c.decodeDefaults(f.within("defaults"))
	seen := map[string]position{}
	c.decodeEntries(f, seen)
	keyed := f.object.get("entries") != nil
	if f.hasRoom("list") {
		f.each("list", func(f *fields) {
			if keyed {
				f.checkBesideEntries(seen)
				return
			}
			c.decodeAgent(f, f.text("id", ""), seen)
		})
	}
	f.aside("ownerIds", "order", "ownership")
	c.decodeOlderAgents(f, seen)
}

// hasRoom reports whether a list or object of agents is within the limit. Otherwise it is an error, and none of its
// agents is read.
func (f *fields) hasRoom(key string) bool {
	v := f.object.get(key)
	if v == nil || len(v.items)+len(v.members) <= mostAgents {
		return true
	}
	f.knows(key)
	f.report.add(crowded(v.at, f.at.member(key), len(v.items)+len(v.members)))
	return false
}

func crowded(at position, p *path, agents int) Finding {
	one := failure(CodeManyAgents, at, p, fmt.Sprintf("%d agents are configured here; the maximum is %d", agents, mostAgents),
		"remove unneeded ones, or move them to another server with its own state directory")
	one.Value = fmt.Sprint(agents)
	return one
}

// decodeEntries reads agents.entries, which maps ids to settings, in the order of ids: the order of keys has no
// meaning, and other programs change it.
func (c *Config) decodeEntries(f *fields, seen map[string]position) {
	if !f.hasRoom("entries") {
		return
	}
	before := len(c.Agents)
	f.named("entries", func(id string, f *fields) {
		if f.object == nil {
			return // already reported
		}
		f.knows("id")
		if own := f.object.get("id"); own != nil && (own.kind != text || !strings.EqualFold(own.text, id)) {
			f.report.add(failure(CodeValue, own.at, f.at.member("id"), fmt.Sprintf("the key is the id, and it is %q", clip(maskText(id))),
				"remove this, or make it equal to the key"))
		}
		c.decodeAgent(f, id, seen)
	})
	slices.SortStableFunc(c.Agents[before:], func(a, b Agent) int { return cmp.Compare(a.ID, b.ID) })
	entries := f.object.get("entries")
	if entries == nil {
		return
	}
	for _, m := range entries.members {
		if m.value.kind == null {
			f.report.add(dropped(m.at, f.at.member("entries").named(m.key), "null is no agent", "write {} for an agent without settings of its own, or remove the key"))
		}
	}
}

// checkBesideEntries checks an agent of agents.list if agents.entries exists, which takes precedence.
func (f *fields) checkBesideEntries(seen map[string]position) {
	id := f.text("id", "")
	if first, there := seen[strings.ToLower(id)]; there {
		f.report.add(warning(CodeValue, f.object.at, f.at, fmt.Sprintf("agents.entries also has this agent, at %s:%d:%d, and takes precedence", first.file,
			first.line, first.column), "remove agents.list"))
		return
	}
	f.report.add(dropped(f.object.at, f.at, "agents.entries exists and takes precedence: this agent would be ignored",
		"move it to agents.entries, with its id as the key, or remove it"))
}

func dropped(at position, p *path, message, hint string) Finding {
	return failure(CodeDropped, at, p, message, hint)
}

// decodeOlderAgents reads the form in which agents maps ids to settings.
func (c *Config) decodeOlderAgents(f *fields, seen map[string]position) {
	if f.object == nil {
		return
	}
	n := len(c.Agents)
	for _, m := range f.object.members {
		if m.value.kind == object && !slices.Contains(f.known, m.key) {
			n++
		}
	}
	if n > mostAgents {
		f.report.add(crowded(f.object.at, f.at, n))
		return
	}
	sorted := slices.SortedFunc(slices.Values(f.object.members), func(a, b *member) int { return cmp.Compare(a.key, b.key) })
	for _, m := range sorted {
		at := f.at.member(m.key)
		holder := nearest(m.key, []string{"entries", "list"})
		switch {
		case slices.Contains(f.known, m.key) || m.value.kind == null:
		case distance(m.key, "defaults", 1) == 1:
			f.unknown(m)
		case m.value.holdsObjects() && (holder != "" || m.value.kind == list || !isAgent(m.value)):
			f.report.add(dropped(m.at, at, "agents are not read from here: they would be ignored", fmt.Sprintf("did you mean %q?", cmp.Or(holder, "entries"))))
		case m.value.kind != object || holder != "" && distance(m.key, holder, 1) == 1:
			f.unknown(m)
		case len(m.value.members) == 0:
			f.report.add(dropped(m.at, at, "nothing is set here: an agent of this name would be ignored",
				fmt.Sprintf("move it to agents.entries if it is an agent, as %q: {}; else remove it", clip(maskText(m.key)))))
		default:
			agent := f.below(m.value, f.at.named(m.key))
			c.decodeAgent(agent, agent.text("id", m.key), seen)
		}
	}
}

// checkMistypedAgents reports agents below a root key similar to agents.
func checkMistypedAgents(root *fields) {
	if root.object == nil {
		return
	}
	for _, m := range root.object.members {
		meant := strings.EqualFold(m.key, "agents") || nearest(m.key, []string{"agents"}) != ""
		if !meant || slices.Contains(root.known, m.key) || !m.value.get("entries").holdsObjects() && !m.value.get("list").holdsObjects() {
			continue
		}
		root.knows(m.key)
		root.report.add(dropped(m.at, root.at.member(m.key), "agents are not read from here: they would be ignored", `did you mean "agents"?`))
	}
}

// isAgent reports whether an object has any setting of an agent; otherwise it may contain agents in an unknown form.
func isAgent(v *value) bool {
	f := (&fields{report: newReport()}).below(v, nil)
	(&Config{}).decodeAgent(f, "", map[string]position{})
	return slices.ContainsFunc(v.members, func(m *member) bool { return m.key == "id" || slices.Contains(f.known, m.key) })
}

// holdsObjects reports whether a list or object contains objects.
func (v *value) holdsObjects() bool {
	return v != nil && (slices.ContainsFunc(v.items, func(item *value) bool { return item.kind == object }) ||
		slices.ContainsFunc(v.members, func(m *member) bool { return m.value.kind == object }))
}

// decodeAgent reads one agent. seen maps earlier ids to their places.
func (c *Config) decodeAgent(f *fields, id string, seen map[string]position) {
	identity := f.within("identity")
	agent := Agent{
		ID:        id,
		Name:      cmp.Or(f.text("name", ""), identity.text("name", "")),
		Kind:      f.text("kind", ""),
		Utility:   f.flag("utility", false),
		Default:   f.flag("default", false),
		Role:      f.role("role"),
		Workspace: f.text("workspace", ""),
		Identity: Identity{Name: identity.text("name", ""), Emoji: identity.text("emoji", ""), Avatar: identity.text("avatar", ""),
			Theme: identity.text("theme", "")},
		Model:         f.modelChoice("model"),
		ContextTokens: f.tokens("contextTokens"),
		Timeout:       f.seconds("timeoutSeconds"),
		Tools:         decodeAgentTools(f.within("tools")),
	}
	if h := decodeHeartbeat(f.within("heartbeat"), c.Defaults.Heartbeat); f.object.get("heartbeat") != nil {
		agent.Heartbeat = &h
	}
	agent.Skills = f.skillNames("skills")
	agent.Runs = decodePlacement(f.within("runs"))
	identity.done()
	subagents := f.within("subagents")
	agent.AllowAgents = subagents.texts("allowAgents")
	agent.SubagentModel, agent.SubagentThinking = subagents.modelChoice("model"), subagents.text("thinking", "")
	subagents.others("runTimeoutSeconds", "requireAgentId", "delegationMode")
	subagents.done()
	f.others("agentDir", "models", "modelPolicy", "decisionModel", "utilityModel", "skillsLimits", "memory", "memorySearch",
		"statusUpdates", "groupChat", "sandbox", "cwd", "params", "runtime", "thinkingDefault", "reasoningDefault", "fastModeDefault",
		"embeddedHarness", "embeddedPi", "embeddedAgent", "experimental", "contextInjection", "contextLimits", "bootstrapMaxChars",
		"bootstrapTotalMaxChars", "systemPromptOverride", "taskContinuation", "tts", "accountId")
	f.aside("description", "humanDelay", "verboseDefault", "typingMode", "toolProgressDetail", "category", "team", "archived")
	f.done()
	checkKind(f)
	if c.checkID(f, agent.ID, seen) {
		c.Agents = append(c.Agents, agent)
	}
}

// checkKind reports a misspelled utility. Other kinds are for other programs.
func checkKind(f *fields) {
	v := f.object.get("kind")
	if v == nil || v.kind != text {
		return
	}
	if near := nearest(v.text, []string{coordination.KindUtility}); near != "" && near != v.text {
		one := warning(CodeValue, v.at, f.at.member("kind"), v.shown()+" is not a known kind", fmt.Sprintf("did you mean %q?", near))
		one.Value = v.shown()
		f.report.add(one)
	}
}

// checkID reports whether an agent has a unique id, ignoring case.
func (c *Config) checkID(f *fields, id string, seen map[string]position) bool {
	if id == "" {
		if m := f.object.index["id"]; m == nil || m.value.kind == null || m.value.kind == text && !m.value.unset { // else already reported
			f.report.add(failure(CodeNoID, f.object.at, f.at.member("id"), "an agent without an id would be ignored", "give it an id"))
		}
		return false
	}
	key := strings.ToLower(id)
	if first, twice := seen[key]; twice {
		one := failure(CodeDuplicateID, f.object.at, f.at,
			fmt.Sprintf("a second agent has the id of the one at %s:%d:%d", first.file, first.line, first.column),
			"give one of them another id; case does not matter")
		one.Value = fmt.Sprintf("%q", clip(maskText(id)))
		f.report.add(one)
		return false
	}
	seen[key] = f.object.at
	return true
}

func (c *Config) decodeDefaults(f *fields) {
	d := &c.Defaults
	d.Workspace = f.text("workspace", "")
	d.Model = f.modelChoice("model")
	d.ContextTokens = f.tokens("contextTokens")
	d.Timeout = time.Duration(f.count("timeoutSeconds", 600, 0, maxCount)) * time.Second
	d.MaxConcurrent = f.count("maxConcurrent", 4, 1, maxCount)
	nested := f.within("nested")
	d.MaxNested = nested.count("maxConcurrent", 8, 1, maxCount)
	nested.done()

	s := f.within("subagents")
	d.Subagents = Subagents{
		MaxConcurrent:       s.count("maxConcurrent", 8, 1, maxCount),
		MaxSpawnDepth:       s.count("maxSpawnDepth", 1, 1, 5),
		MaxChildrenPerAgent: s.count("maxChildrenPerAgent", 5, 1, maxCount),
		ArchiveAfter:        time.Duration(s.count("archiveAfterMinutes", 60, 0, maxCount)) * time.Minute,
		AnnounceMaxAge:      s.duration("announceMaxAgeMs", 10*time.Minute),
		Model:               s.modelChoice("model"),
		Thinking:            s.text("thinking", ""),
		Timeout:             s.seconds("runTimeoutSeconds"),
	}
	s.others("announceTimeoutMs", "allowAgents", "requireAgentId", "delegationMode")
	s.done()

	a2a := f.within("a2aConcurrency")
	d.A2A = A2AConcurrency{MaxFlows: a2a.count("maxConcurrentFlows", 3, 1, maxCount), QueueTimeout: a2a.duration("queueTimeoutMs", 30*time.Second)}
	a2a.done()

	guard, usual := f.within("a2aLoopGuard"), chain.DefaultLimits()
	d.LoopGuard = A2ALoopGuard{
		Hops:     guard.count("maxHops", usual.Hops, 1, maxCount),
		Pair:     guard.count("maxPerPair", usual.Pair, 1, mostPasses),
		Cause:    guard.count("maxPerCause", usual.Cause, 1, mostPasses),
		CauseDay: guard.count("maxPerCausePerDay", usual.CauseDay, 1, mostPasses),
		Window:   guard.duration("windowMs", usual.Window),
	}
	guard.done()

	t := f.within("taskContinuation")
	d.Continuation = TaskContinuation{
		Enabled:       t.flag("enabled", true),
		CheckInterval: t.duration("checkInterval", 2*time.Minute),
		IdleThreshold: t.duration("idleThreshold", 3*time.Minute),
		ZombieTaskTTL: t.duration("zombieTaskTtl", day),
		Channel:       t.text("channel", "discord"),
	}
	checkContinuation(t, &d.Continuation)
	t.done()

	c.Skills.Limit = f.skillNames("skills")
	d.Resume = f.choice("resume", ResumeSteps, ResumeOff)
	d.Heartbeat = decodeHeartbeat(f.within("heartbeat"), Heartbeat{Target: "none"})
	d.SystemAgent = decodeSystemAgent(f.within("systemAgent"))

	f.others("imageModel", "imageGenerationModel", "videoGenerationModel", "musicGenerationModel", "mediaModels", "pdfModel", "voiceModel", "utilityModel",
		"decisionModel", "pdfMaxBytesMb", "pdfMaxMb", "pdfMaxPages", "models", "modelPolicy", "repoRoot", "cwd", "skipBootstrap",
		"skipOptionalBootstrapFiles", "bootstrapMaxChars", "bootstrapTotalMaxChars", "contextInjection", "startupContext", "userTimezone",
		"contextLimits", "cliBackends", "contextPruning", "compaction", "embeddedPi", "embeddedHarness", "embeddedAgent", "experimental",
		"memorySearch", "thinkingDefault", "reasoningDefault", "elevatedDefault", "fastModeDefault", "mediaMaxMb", "imageMaxDimensionPx",
		"additionalSystemPrompt", "systemPromptOverride", "sandbox", "params", "statusUpdates", "llm", "silentReply",
		"agentRuntime", "runRetries", "groupChat", "tools", "authInheritance")
	f.aside("bootstrapPromptTruncationWarning", "timeFormat", "envelopeTimezone", "envelopeTimestamp", "envelopeElapsed", "verboseDefault",
		"blockStreamingDefault", "blockStreamingBreak", "blockStreamingChunk", "blockStreamingCoalesce", "humanDelay", "imageQuality",
		"typingIntervalSeconds", "typingMode", "silentReplyRewrite", "toolProgressDetail", "modelSelectionScope", "sessionStore")
	f.done()
}

// decodeSystemAgent reads the default agent in the form of 2026.9, which no longer sets default.
func decodeSystemAgent(f *fields) string {
	id := f.text("agentId", "")
	f.done()
	return id
}

// checkContinuation reports timeouts after which tasks would be taken from agents that have not been prompted.
func checkContinuation(f *fields, c *TaskContinuation) {
	ttl, idle := f.object.get("zombieTaskTtl"), f.object.get("idleThreshold")
	key, v := "zombieTaskTtl", ttl
	if ttl == nil {
		key, v = "idleThreshold", idle
	}
	message, hint := "", ""
	switch {
	case v == nil || c.ZombieTaskTTL == 0:
		return
	case c.ZombieTaskTTL < c.IdleThreshold:
		message = fmt.Sprintf("zombieTaskTtl, %s, is shorter than idleThreshold, %s: a task is taken from its agent before the agent is prompted to continue it",
			c.ZombieTaskTTL, c.IdleThreshold)
		hint = "make zombieTaskTtl much longer than idleThreshold, such as 24h, or 0 for unlimited"
	case c.ZombieTaskTTL < time.Minute:
		message = fmt.Sprintf("%s is less than a minute: a task is taken from its agent between two steps", c.ZombieTaskTTL)
		hint = "use 24h, or 0 for unlimited; a number is milliseconds"
	default:
		return
	}
	one := warning(CodeValue, v.at, f.at.member(key), message, hint)
	one.Value = v.shown()
	f.report.add(one)
}

// checkAgentNames reports settings that name an agent which does not exist, if any are configured.
func (c *Config) checkAgentNames(root *fields) {
	if len(c.Agents) == 0 {
		return
	}
	names := &agentNames{report: root.report, known: map[string]bool{}}
	for _, a := range c.Agents {
		names.known[strings.ToLower(a.ID)] = true
		names.ids = append(names.ids, a.ID)
	}
	a2a, at := root.object.get("tools").get("agentToAgent"), root.at.member("tools").member("agentToAgent")
	if allow := a2a.get("allow"); allow != nil {
		for i, item := range allow.items {
			names.check(item, at.member("allow").item(i))
		}
	}
	if pairs := a2a.get("pairs"); pairs != nil {
		for i, item := range pairs.items {
			for _, key := range []string{"from", "to"} {
				if id := item.get(key); id != nil && id.text != "" { // else already reported
					names.check(id, at.member("pairs").item(i).member(key))
				}
			}
		}
	}
	names.check(root.object.get("agents").get("defaults").get("systemAgent").get("agentId"),
		root.at.member("agents").member("defaults").member("systemAgent").member("agentId"))
	if bindings := root.object.get("bindings"); bindings != nil {
		for i, item := range bindings.items {
			names.check(item.get("agentId"), root.at.member("bindings").item(i).member("agentId"))
		}
	}
}

type agentNames struct {
	report *report
	ids    []string
	known  map[string]bool // in lower case
}

func (n *agentNames) check(v *value, at *path) {
	if v == nil || v.kind != text || n.known[strings.ToLower(v.text)] || strings.ContainsAny(v.text, "*?") {
		return
	}
	hint := "configure such an agent, or name another one"
	if !n.report.isFull(CodeUnknownAgent) {
		if near := nearest(v.text, n.ids); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
	}
	one := warning(CodeUnknownAgent, v.at, at, v.shown()+" is not a configured agent", hint)
	one.Value = v.shown()
	n.report.add(one)
}
