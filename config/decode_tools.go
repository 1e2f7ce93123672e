package config

func (c *Config) decodeTools(f *fields) {
	a2a := f.within("agentToAgent")
	c.Tools.AgentToAgent = AgentToAgent{Enabled: a2a.flag("enabled", false), Allow: a2a.texts("allow")}
	a2a.done()
	sessions := f.within("sessions")
	c.Tools.Visibility = sessions.choice("visibility", "tree", "self", "agent", "all")
	sessions.done()
	c.Tools.ToolPolicy = decodePolicy(f)
	f.others("profile", "alsoAllow", "byProvider", "web", "media", "links", "message", "elevated", "exec", "fs", "loopDetection",
		"subagents", "sandbox", "sessions_spawn", "toolsBySender", "experimental", "codeMode", "toolSearch", "updatePlan")
	f.done()
}

// decodeAgentTools reads what holds for one agent.
func decodeAgentTools(f *fields) ToolPolicy {
	p := decodePolicy(f)
	f.others("profile", "alsoAllow", "byProvider", "toolsBySender", "elevated", "exec", "fs", "loopDetection", "sandbox", "message", "media", "web", "links",
		"experimental", "codeMode", "subagents", "sessions", "agentToAgent", "toolSearch", "updatePlan")
	f.done()
	return p
}

func decodePolicy(f *fields) ToolPolicy {
	return ToolPolicy{Allow: f.texts("allow"), Deny: f.texts("deny")}
}
