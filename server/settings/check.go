package settings

import (
	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
)

// CheckFile reads and checks the configuration at path as serve does; more are further checks.
func CheckFile(path string, getenv func(string) string, more ...func(*config.Config) config.Findings) config.Report {
	loaded, findings := config.Load(path, getenv)
	findings = append(findings, catalogue.Check(loaded)...)
	findings = append(findings, CheckModels(loaded, getenv)...)
	findings = append(findings, CheckBots(loaded)...)
	findings = append(findings, CheckCluster(loaded)...)
	for _, check := range more {
		findings = append(findings, check(loaded)...)
	}
	return config.ReportOn(path, loaded, findings)
}

// Effective returns the settings of the API and of the gateway under the configuration at path.
func Effective(path string, loaded *config.Config, api Settings, gateway Gateway) config.Effective {
	return config.EffectiveOf(path, loaded, append(api.Shown(loaded), gateway.Shown(loaded)...))
}
