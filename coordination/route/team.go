package route

import (
	"cmp"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// team is the agents whose bots see a message, and the agents of all bots.
type team struct {
	seeing []Bot             // one per agent, by agent id
	barred []Bot             // that would see it
	agents map[string]string // agents by bot user id
	names  map[string]string // by agent
}

// newTeam picks, for each agent, one bot that sees the message: a mentioned one, else that of the first account. The result does not
// depend on the order of bots. A user id given for two agents belongs to the first.
func newTeam(bots []Bot, m *Message, mentions []string) team {
	t := team{agents: make(map[string]string, len(bots)), names: make(map[string]string, len(bots))}
	sorted := slices.Clone(bots)
	slices.SortFunc(sorted, func(a, b Bot) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.UserID, b.UserID), cmp.Compare(a.Name, b.Name))
	})
	for _, b := range sorted {
		if b.Agent == "" || b.UserID == "" {
			continue
		}
		if _, taken := t.agents[b.UserID]; !taken {
			t.agents[b.UserID] = b.Agent
		}
		if t.names[b.Agent] == "" {
			t.names[b.Agent] = b.Name
		}
		if b.Blind || m.direct() && b.AccountID != m.AccountID || t.agents[b.UserID] != b.Agent {
			continue
		}
		if b.Bars != "" {
			t.barred = append(t.barred, b)
			continue
		}
		last := len(t.seeing) - 1
		switch {
		case last < 0 || t.seeing[last].Agent != b.Agent:
			t.seeing = append(t.seeing, b)
		case !slices.Contains(mentions, t.seeing[last].UserID) && slices.Contains(mentions, b.UserID):
			t.seeing[last] = b
		}
	}
	return t
}

// sees reports whether a bot of the agent sees the message.
func (t *team) sees(agent string) bool {
	_, found := slices.BinarySearchFunc(t.seeing, agent, func(b Bot, a string) int { return cmp.Compare(b.Agent, a) })
	return found
}

func (t *team) name(agent string) string { return cmp.Or(t.names[agent], agent) }

// all returns the names of agents.
func (t *team) all(agents []string) (names []string) {
	for _, agent := range agents {
		names = append(names, t.name(agent))
	}
	return names
}

// called lists the agents of mentioned users, in order, without the author.
func (t *team) called(mentions []string, author string) (agents []string) {
	for _, user := range mentions {
		if agent := t.agents[user]; agent != "" && agent != author {
			agents = appendNew(agents, agent)
		}
	}
	return agents
}

func (t *team) accounts() (ids []string) {
	for _, b := range t.seeing {
		ids = append(ids, b.AccountID)
	}
	return ids
}

// roster returns the user names for the kept record of a message.
func (t *team) roster(m *Message) *coordination.Roster {
	mentions := make(map[string]string, len(t.agents)+len(m.Names))
	for id, name := range m.Names {
		mentions[id] = name
	}
	for id, agent := range t.agents {
		mentions[id] = t.name(agent)
	}
	return &coordination.Roster{Mentions: mentions}
}
