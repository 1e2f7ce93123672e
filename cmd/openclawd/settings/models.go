package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
)

// CheckModels finds the models that a configuration names and that no run could ask, because their provider or they are not there. The
// findings are warnings: other models go on. A key that is missing is none of them, for the server may have an environment of its own.
// Nothing is asked of a provider. The place of an agent's setting is told by the agent's id.
func CheckModels(c *config.Config, getenv func(string) string) config.Findings {
	m := modelCheck{file: c.File, models: catalogue.New(c, catalogue.Options{Getenv: getenv})}
	m.choice("agents.defaults.model", c.Defaults.Model, c.ModelFor(""))
	for i := range c.Agents {
		a := &c.Agents[i]
		m.choice(llm.Clean(c.AgentPath(a.ID))+".model", a.Model, c.ModelFor(a.ID))
	}
	return m.findings
}

type modelCheck struct {
	file     string
	models   *catalogue.Catalogue
	findings config.Findings
}

// choice looks at what is written in one place. meant are the same models, with the providers that only their ids stand for.
func (m *modelCheck) choice(path string, written, meant config.ModelChoice) {
	if written.Primary != "" {
		m.model(path+".primary", meant.Primary)
	}
	for i := range written.Fallbacks {
		m.model(fmt.Sprintf("%s.fallbacks[%d]", path, i), meant.Fallbacks[i])
	}
}

func (m *modelCheck) model(path, ref string) {
	_, err := m.models.Open(ref)
	var absent *catalogue.Error
	if !errors.As(err, &absent) || strings.HasSuffix(absent.Setting, ".apiKey") || strings.HasPrefix(absent.Setting, "models.scripted") {
		return
	}
	m.findings = append(m.findings, config.Finding{Severity: config.Warning, Code: config.CodeModel, File: m.file, Path: path, Value: absent.Ref,
		Message: fmt.Sprintf("no run can ask %q: %s: %s", absent.Ref, absent.Setting, absent.Problem), Mend: absent.Mend})
}
