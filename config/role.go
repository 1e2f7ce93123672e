package config

import (
	"fmt"
	"slices"
	"strings"
)

// Roles of agents in their team.
const (
	RoleLead       = "lead" // approves what others want to do, and is told of what nobody goes on with
	RoleWorker     = "worker"
	RoleSpecialist = "specialist"
)

// role reads what an agent is in its team, a worker if that is not said. Other programs may read other texts there, so one that is no role here
// is a worker's, with a warning.
func (f *fields) role(key string) string {
	all := []string{RoleLead, RoleWorker, RoleSpecialist}
	f.schema.member(key).otherwise(RoleWorker).oneOf(all)
	role := f.text(key, RoleWorker)
	if slices.Contains(all, role) {
		return role
	}
	v := f.object.get(key)
	mend := "use " + oneOf(all)
	if near := nearest(v.text, all); near != "" && !v.secret {
		mend = fmt.Sprintf("did you mean %q? %s", near, mend)
	}
	one := warning(CodeValue, v.at, f.at.member(key), v.shown()+" is no role; it is taken for "+RoleWorker, mend)
	one.Value = v.shown()
	f.report.add(one)
	return RoleWorker
}

// Lead reports whether an agent is a lead of the team.
func (c *Config) Lead(agentID string) bool {
	a := c.AgentNamed(agentID)
	return a != nil && a.Role == RoleLead
}

// Leads are the ids of the agents that are leads, in lower case, in the order of the configuration.
func (c *Config) Leads() (ids []string) {
	for _, a := range c.Agents {
		if a.Role == RoleLead {
			ids = append(ids, strings.ToLower(a.ID))
		}
	}
	return ids
}
