package tools

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// WholeModel is a model as provider/id, as an agent calls it: one that is named without its provider is that of the provider that has it, else
// of the agent's usual one.
func WholeModel(c *config.Config, agent, ref string) string {
	if provider, _ := config.SplitModel(ref); provider != "" {
		return ref
	}
	for _, p := range c.Models.Providers {
		if slices.ContainsFunc(p.Models, func(m config.Model) bool { return m.ID == ref }) {
			return p.ID + "/" + ref
		}
	}
	provider, _ := config.SplitModel(c.ModelFor(agent).Primary)
	return strings.TrimPrefix(provider+"/"+ref, "/")
}
