package prompt

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// ListedSkill is a skill of an agent, for people.
type ListedSkill struct {
	Agent       string `json:"agentId"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"` // in the workspace
	Usable      bool   `json:"usable"`
	Why         string `json:"reason,omitempty"` // why it is not
}

// ListSkills returns the skills of an agent, or with "" of all agents; home stands for ~.
func ListSkills(c *config.Config, stateDir, home, agentID string) ([]ListedSkill, error) {
	agents := []string{}
	for i := range c.Agents {
		agents = append(agents, strings.ToLower(c.Agents[i].ID))
	}
	if len(agents) == 0 {
		agents = append(agents, c.DefaultAgentID())
	}
	list, found := []ListedSkill{}, false
	for _, id := range agents {
		if agentID != "" && !strings.EqualFold(id, agentID) {
			continue
		}
		found = true
		all, more, err := Skills(c, id, Directory(c, stateDir, home, id))
		if err != nil {
			return nil, fmt.Errorf("read the skills of agent %s: %w", id, err)
		}
		for i := range all {
			s := &all[i]
			list = append(list, ListedSkill{Agent: id, Name: s.Name, Description: s.Description, Path: s.Path, Usable: s.Usable(), Why: s.Why()})
		}
		if more {
			list = append(list, ListedSkill{Agent: id, Path: "skills", Why: "too many folders: the others are not read"})
		}
	}
	if !found {
		return nil, &NoAgentError{agentID}
	}
	return list, nil
}

// NoAgentError reports an agent that the configuration does not have.
type NoAgentError struct{ ID string }

func (e *NoAgentError) Error() string { return fmt.Sprintf("there is no agent %q", e.ID) }

// Code is the stable code of the error.
func (e *NoAgentError) Code() string { return "no_agent" }

// Hint says what to do.
func (e *NoAgentError) Hint() string { return "openclawd config check lists the agents" }
