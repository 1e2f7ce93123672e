package config

import "slices"

// Skills says which skills of their workspaces agents are told of.
type Skills struct {
	Disabled []string // by their key
	Limit    []string // names for agents without a list of their own; nil is any
}

// SkillEnabled reports whether a skill is not switched off. key is what skills.entries calls it.
func (c *Config) SkillEnabled(key string) bool { return !slices.Contains(c.Skills.Disabled, key) }

// SkillAllowed reports whether an agent may use a skill with a name.
func (c *Config) SkillAllowed(agentID, name string) bool {
	limit := c.Skills.Limit
	if a := c.AgentNamed(agentID); a != nil && a.Skills != nil {
		limit = a.Skills
	}
	return limit == nil || slices.Contains(limit, name)
}

func (c *Config) decodeSkills(f *fields) {
	f.named("entries", func(name string, f *fields) {
		if !f.flag("enabled", true) {
			c.Skills.Disabled = append(c.Skills.Disabled, name)
		}
		f.others("apiKey", "env", "config")
		f.done()
	})
	f.others("allowBundled", "load", "install", "limits", "policy", "workshop", "library")
	f.done()
}

// skillNames reads a list of skills; nil if there is none, which is another thing than an empty one.
func (f *fields) skillNames(key string) []string {
	names := f.texts(key)
	if f.object.get(key) == nil {
		return nil
	}
	return append([]string{}, names...)
}
