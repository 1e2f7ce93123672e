package coordination

import (
	"maps"
	"strings"
)

// Roster is what the configuration says of the team. It reaches the readers of the log as a config.applied event, so
// that a replay knows the team of the day. Keys are lower-case agent ids; a Roster is not changed once it is in use.
type Roster struct {
	Main     map[string]bool   // agents that people and other agents talk with
	Utility  map[string]bool   // agents that only ever work for another: explorers, quick workers
	Names    map[string]string // display names
	Mentions map[string]string // Discord user id -> display name
}

// alwaysMain are main agents whatever the configuration says.
func alwaysMain(id string) bool { return id == "main" || id == "ruda" }

// DefaultRoster is the team before any configuration is known.
func DefaultRoster() *Roster {
	return &Roster{
		Main:     map[string]bool{"main": true, "ruda": true},
		Utility:  map[string]bool{},
		Names:    map[string]string{},
		Mentions: map[string]string{},
	}
}

// IsMain says whether an agent is a main agent. Utility agents are main under RulesV1, where every configured agent
// is, and never under RulesV2. A nil Roster knows what DefaultRoster knows.
func (r *Roster) IsMain(agentID string, rules Rules) bool {
	if agentID == "" {
		return false
	}
	id := strings.ToLower(agentID)
	if r == nil {
		return alwaysMain(id)
	}
	if r.Utility[id] {
		return rules != RulesV2
	}
	return r.Main[id] || alwaysMain(id)
}

// Name is an agent's display name, or its id where it has none.
func (r *Roster) Name(agentID string) string {
	if r != nil {
		if name := r.Names[strings.ToLower(agentID)]; name != "" {
			return name
		}
	}
	return agentID
}

// mention is the display name of a Discord id, or "".
func (r *Roster) mention(id string) string {
	if r == nil {
		return ""
	}
	return r.Mentions[id]
}

// Roster is the team that an applied configuration describes.
func (c ConfigApplied) Roster() *Roster {
	r := DefaultRoster()
	maps.Copy(r.Mentions, c.Mentions)
	for _, agent := range c.Agents {
		id := strings.ToLower(TrimJS(agent.ID))
		if id == "" {
			continue
		}
		if agent.Utility || agent.Kind == KindUtility {
			r.Utility[id] = true
			delete(r.Main, id)
		} else {
			r.Main[id] = true
			delete(r.Utility, id)
		}
		if agent.Name != "" {
			r.Names[id] = agent.Name
		}
	}
	return r
}
