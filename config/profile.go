package config

import "cmp"

// Profiles of tools. Package tools defines their contents.
const (
	ProfileMinimal   = "minimal"
	ProfileMessaging = "messaging"
	ProfileCoding    = "coding"
	ProfileFull      = "full"
)

// ToolProfile returns an agent's profile of tools, and what it may use in addition. Any id may be given.
func (c *Config) ToolProfile(agentID string) (profile string, also []string) {
	profile, also = c.Tools.Profile, c.Tools.AlsoAllow
	if a := c.AgentNamed(agentID); a != nil {
		profile = cmp.Or(a.Tools.Profile, profile)
		if a.Tools.AlsoAllow != nil {
			also = a.Tools.AlsoAllow
		}
	}
	return cmp.Or(profile, ProfileFull), also
}
