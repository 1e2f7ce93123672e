package gateway

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// modelInfo is a model as models.list shows it.
type modelInfo struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Provider      string   `json:"provider"`
	ContextWindow int      `json:"contextWindow,omitempty"`
	Reasoning     bool     `json:"reasoning"`
	Input         []string `json:"input"`
}

// answerModels answers models.list with what is configured, and the model that is part of the program where an agent would use it.
func (s *Server) answerModels(context.Context, *wire.Call) (any, error) {
	return encoded(map[string]any{"models": modelsOf(s.opts.Configuration.InForce())})
}

func modelsOf(c *config.Config) []modelInfo {
	all := []modelInfo{}
	for _, p := range c.Models.Providers {
		for _, m := range p.Models {
			all = append(all, modelInfo{m.ID, m.Name, p.ID, m.ContextWindow, m.Reasoning, m.Input})
		}
	}
	if provider, id := config.SplitModel(config.ScriptedModel); len(all) == 0 || usesScripted(c) && c.ModelNamed(config.ScriptedModel) == nil {
		all = append(all, modelInfo{ID: id, Name: "Scripted (no model configured)", Provider: provider, Input: []string{"text"}})
	}
	return all
}

func usesScripted(c *config.Config) bool {
	return slices.ContainsFunc(agentsOf(c), func(a config.Agent) bool {
		choice := c.ModelFor(a.ID)
		return choice.Primary == config.ScriptedModel || slices.Contains(choice.Fallbacks, config.ScriptedModel)
	})
}
