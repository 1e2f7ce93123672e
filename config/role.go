package config

import (
	"fmt"
	"slices"
	"strings"
)

// Roles of agents in their team.
const (
	RoleLead       = "lead" // approves others' work, and is notified of stuck tasks
	RoleWorker     = "worker"
	RoleSpecialist = "specialist"
)

// role reads an agent's role, a worker by default. Other programs may use other texts, so an unknown one is treated as
// worker, with a warning.
func (f *fields) role(key string) string {
	all := []string{RoleLead, RoleWorker, RoleSpecialist}
	f.schema.member(key).otherwise(RoleWorker).oneOf(all)
	role := f.text(key, RoleWorker)
	if slices.Contains(all, role) {
		return role
	}
	v := f.object.get(key)
	hint := "use " + oneOf(all)
	if near := nearest(v.text, all); near != "" && !v.secret {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	one := warning(CodeValue, v.at, f.at.member(key), v.shown()+" is not a role; it is treated as "+RoleWorker, hint)
	one.Value = v.shown()
	f.report.add(one)
	return RoleWorker
}

// Lead reports whether an agent is a lead of the team.
func (c *Config) Lead(agentID string) bool {
	a := c.AgentNamed(agentID)
	return a != nil && a.Role == RoleLead
}

// Leads are the ids of the leads, in lower case, in configuration order.
func (c *Config) Leads() (ids []string) {
	for _, a := range c.Agents {
		if a.Role == RoleLead {
			ids = append(ids, strings.ToLower(a.ID))
		}
	}
	return ids
}
