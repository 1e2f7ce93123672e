package config

import "cmp"

// Profiles of tools. Package tools says what is in each.
const (
	ProfileMinimal   = "minimal"
	ProfileMessaging = "messaging"
	ProfileCoding    = "coding"
	ProfileFull      = "full"
)

// ToolProfile is the profile of tools that holds for an agent, and what it may use beside it. Any id may be asked for.
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
