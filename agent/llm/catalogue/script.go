package catalogue

import (
	"cmp"
	"errors"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/config"
)

const scriptSetting = "models.scripted.script"

// openScript opens the provider with a script.
func (c *Catalogue) openScript() (llm.Provider, *Error) {
	configured := c.config.Models.Script
	if configured == nil {
		if c.o.Script != nil {
			return scripted.New(c.o.Script, nil), nil
		}
		return scripted.New(scripted.Default(), nil), nil
	}
	if configured.Problem != "" {
		return nil, &Error{Setting: scriptSetting, Problem: configured.File + " " + configured.Problem, HintText: "run openclawd config check"}
	}
	script, err := scripted.Read(configured.File, configured.Text)
	if err != nil {
		return nil, &Error{Setting: scriptSetting, Problem: err.Error(), HintText: "fix the script; openclawd config check lists what is wrong"}
	}
	return scripted.New(script, nil), nil
}

// Check validates files that a configuration names and only a provider reads: the script. The findings are warnings,
// since everything else works.
func Check(c *config.Config) (findings config.Findings) {
	configured := c.Models.Script
	if configured == nil || configured.Problem != "" { // reported by the configuration's own findings
		return nil
	}
	_, err := scripted.Read(configured.File, configured.Text)
	var wrong *scripted.Error
	if !errors.As(err, &wrong) {
		return nil
	}
	for _, m := range wrong.Mistakes {
		findings = append(findings, config.Finding{Severity: config.Warning, Code: config.CodeScript, File: wrong.File, Line: m.Line, Column: m.Column,
			Path: cmp.Or(m.Path, scriptSetting), Message: m.Message, Hint: m.Hint})
	}
	return findings
}
