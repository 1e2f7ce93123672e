package coordination

import (
	"maps"
	"strings"
)

// Roster is the team as configured. Log readers get it from config.applied events, so that a replay uses the team of the time. Keys are
// lower-case agent ids; a Roster is immutable once in use.
type Roster struct {
	Main     map[string]bool   // agents that people and other agents talk to
	Utility  map[string]bool   // agents that only work for another: explorers, quick workers
	Names    map[string]string // display names
	Mentions map[string]string // Discord user id -> display name
}

// alwaysMain lists main agents regardless of the configuration.
func alwaysMain(id string) bool { return id == "main" || id == "ruda" }

// DefaultRoster is the team without a configuration.
func DefaultRoster() *Roster {
	return &Roster{
		Main:     map[string]bool{"main": true, "ruda": true},
		Utility:  map[string]bool{},
		Names:    map[string]string{},
		Mentions: map[string]string{},
	}
}

// IsMain reports whether an agent is a main agent. Utility agents are main under RulesV1, as is every configured agent, and never under
// RulesV2. A nil Roster is DefaultRoster.
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

// Name is an agent's display name, or its id without one.
func (r *Roster) Name(agentID string) string {
	if r != nil {
		if name := r.Names[strings.ToLower(agentID)]; name != "" {
			return name
		}
	}
	return agentID
}

func (r *Roster) mention(id string) string {
	if r == nil {
		return ""
	}
	return r.Mentions[id]
}

// Roster is the team of an applied configuration.
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
