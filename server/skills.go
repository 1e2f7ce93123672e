package server

import (
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/coordination/skill"
)

// skillsOf returns the skills in an agent's workspace.
func (p *Program) skillsOf(agentID string) ([]skill.Status, error) {
	c := p.newConfiguration().InForce()
	all, _, err := prompt.Skills(c, agentID, p.homeOf(c, agentID))
	return all, err
}
