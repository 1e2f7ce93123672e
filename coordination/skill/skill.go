// Package skill reads what SKILL.md files say of themselves, and decides which skills an agent is told of. It is pure.
package skill

import (
	"slices"
	"strings"
)

// A skill is the file FileName in a folder of its own below Folder.
const (
	FileName = "SKILL.md"
	Folder   = "skills"
)

// Skill is what a SKILL.md says of itself.
type Skill struct {
	Name        string // at most 64 characters
	Description string // one line of at most 500 characters
	Path        string // of the file in the workspace: skills/<folder>/SKILL.md

	Key        string // name in skills.entries; usually Name
	Emoji      string
	Homepage   string
	PrimaryEnv string
	Always     bool // needs nothing, whatever Needs says
	Hidden     bool // agents are not told of it
	Needs      Needs
}

// Needs are requirements of a skill.
type Needs struct {
	Bins    []string `json:"bins"`    // programs, all of them
	AnyBins []string `json:"anyBins"` // programs, one of them
	Env     []string `json:"env"`     // variables
	Config  []string `json:"config"`  // settings of OpenClaw
	OS      []string `json:"os"`      // one of them, as Node names it
}

// Empty reports whether nothing is needed.
func (n *Needs) Empty() bool {
	return len(n.Bins)+len(n.AnyBins)+len(n.Env)+len(n.Config)+len(n.OS) == 0
}

// Host is the machine on which agents work.
type Host struct {
	OS     string // as Go names it
	HasBin func(name string) bool
	HasEnv func(name string) bool
}

// Missing returns which needs of a skill the host does not meet. Settings count as missing: openclawd has none of the features that skills
// ask for by setting.
func (s *Skill) Missing(h *Host) (m Needs) {
	if s.Always {
		return m
	}
	m.Bins = slices.DeleteFunc(slices.Clone(s.Needs.Bins), h.HasBin)
	m.Env = slices.DeleteFunc(slices.Clone(s.Needs.Env), h.HasEnv)
	m.Config = slices.Clone(s.Needs.Config)
	if len(s.Needs.AnyBins) > 0 && !slices.ContainsFunc(s.Needs.AnyBins, h.HasBin) {
		m.AnyBins = slices.Clone(s.Needs.AnyBins)
	}
	if os := h.OS; len(s.Needs.OS) > 0 {
		if os == "windows" {
			os = "win32"
		}
		if !slices.Contains(s.Needs.OS, os) {
			m.OS = slices.Clone(s.Needs.OS)
		}
	}
	return m
}

// Status is a skill as an agent has it.
type Status struct {
	Skill

	Fault    string // why the file is no skill; "" if it is one
	Disabled bool   // by skills.entries
	Blocked  bool   // the agent's list of skills does not name it
	Missing  Needs
}

// Usable reports whether the agent is told of it.
func (s *Status) Usable() bool {
	return s.Fault == "" && !s.Disabled && !s.Blocked && !s.Hidden && s.Missing.Empty()
}

// Why says why the agent is not told of it; "" if it is.
func (s *Status) Why() string {
	switch m := &s.Missing; {
	case s.Fault != "":
		return s.Fault
	case s.Disabled:
		return "disabled by skills.entries"
	case s.Blocked:
		return "not in the agent's list of skills"
	case s.Hidden:
		return "disable-model-invocation"
	case len(m.Bins)+len(m.AnyBins) > 0:
		return "missing programs: " + strings.Join(slices.Concat(m.Bins, m.AnyBins), ", ")
	case len(m.Env) > 0:
		return "missing variables: " + strings.Join(m.Env, ", ")
	case len(m.OS) > 0:
		return "only for " + strings.Join(m.OS, ", ")
	case len(m.Config) > 0:
		return "needs settings that openclawd does not have: " + strings.Join(m.Config, ", ")
	}
	return ""
}
