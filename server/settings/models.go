package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
)

// CheckModels finds configured models that no run could use, because they or their provider do not exist. The findings are warnings: other
// models work. A missing key is not reported, because the server may have a different environment. Providers are not queried. The position
// of an agent's setting uses the agent's id.
func CheckModels(c *config.Config, getenv func(string) string) config.Findings {
	m := modelCheck{file: c.File, models: catalogue.New(c, catalogue.Options{Getenv: getenv})}
	m.choice("agents.defaults.model", c.Defaults.Model, c.ModelFor(""))
	for i := range c.Agents {
		a := &c.Agents[i]
		m.choice(llm.Clean(c.AgentPath(a.ID))+".model", a.Model, c.ModelFor(a.ID))
	}
	return append(m.findings, CheckKeys(c, getenv)...)
}

// CheckKeys finds a key for models in the environment where no model is chosen: the built-in script answers, as if there were none.
func CheckKeys(c *config.Config, getenv func(string) string) config.Findings {
	provider, variable := catalogue.KeySet(getenv)
	scripted := func(agent string) bool { return c.ModelFor(agent).Primary == config.ScriptedModel }
	if provider == "" || c.Defaults.Model.Primary != "" || !scripted("") ||
		slices.ContainsFunc(c.Agents, func(a config.Agent) bool { return !scripted(a.ID) || a.Model.Primary != "" }) {
		return nil
	}
	return config.Findings{{Severity: config.Warning, Code: config.CodeModel, File: c.File, Path: "agents.defaults.model",
		Message: variable + " is set, and no model is chosen: a built-in script answers",
		Hint:    fmt.Sprintf("write agents: {defaults: {model: {primary: %q}}}", provider+"/MODEL")}}
}

type modelCheck struct {
	file     string
	models   *catalogue.Catalogue
	findings config.Findings
}

// choice checks the models written in one place. meant are the same models, with providers resolved.
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
		Message: fmt.Sprintf("no run can ask %q: %s: %s", absent.Ref, absent.Setting, absent.Problem), Hint: absent.HintText})
}
