package config

import (
	"encoding/json"
	"strings"
)

// Report is the result of checking a configuration. It contains no secret. Hash is "" if the configuration cannot be
// used.
type Report struct {
	File     string   `json:"file"`
	Found    bool     `json:"found"`
	Usable   bool     `json:"usable"`
	Errors   int      `json:"errors"`
	Warnings int      `json:"warnings"`
	Agents   int      `json:"agents"`
	Hash     string   `json:"hash"`
	Findings Findings `json:"findings"`

	Team            []ReportedAgent `json:"team"`
	Unsupported     []Unsupported   `json:"unsupported"`     // settings that openclawd ignores
	MoreUnsupported int             `json:"moreUnsupported"` // number of settings left out of it
}

// ReportedAgent is an agent of a checked configuration.
type ReportedAgent struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Default bool   `json:"default"` // answers when no agent is named
}

// ReportOn returns the report on the configuration that was loaded from path with these findings.
func ReportOn(path string, loaded *Config, findings Findings) Report {
	r := Report{
		File: path, Found: loaded.Found, Usable: findings.Err() == nil, Agents: len(loaded.Agents),
		Errors: findings.Count(Error), Warnings: findings.Count(Warning),
		Findings: append(Findings{}, findings...), // [], not null
		Team:     reportedAgents(loaded), Unsupported: append([]Unsupported{}, loaded.Unsupported...), MoreUnsupported: loaded.MoreUnsupported,
	}
	if r.Usable {
		r.Hash = loaded.Hash()
	}
	return r
}

// reportedAgents lists the agents of a configuration, in its order.
func reportedAgents(c *Config) []ReportedAgent {
	all := []ReportedAgent{}
	applied, usual := c.Applied(), c.DefaultAgentID() // Applied contains no secrets
	for _, a := range applied.Agents {
		all = append(all, ReportedAgent{ID: a.ID, Name: a.Name, Default: strings.EqualFold(a.ID, usual)})
	}
	return all
}

// Effective are the settings of serve and their sources, with the whole configuration. Secrets are masked.
type Effective struct {
	File          string          `json:"file"`
	Found         bool            `json:"found"`
	Files         []string        `json:"files"` // files that it is read from
	Hash          string          `json:"hash"`
	Settings      []Setting       `json:"settings"`
	Configuration json.RawMessage `json:"configuration"`
}

// Setting is a setting with the value in use and where it comes from.
type Setting struct {
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// EffectiveOf returns the settings under a configuration that was loaded from path.
func EffectiveOf(path string, loaded *Config, list []Setting) Effective {
	return Effective{File: path, Found: loaded.Found, Files: append([]string{}, loaded.Files...), Hash: loaded.Hash(), Settings: list,
		Configuration: loaded.Masked()}
}
