package gateway

import (
	"context"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

type modelInfo struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Provider      string   `json:"provider"`
	ContextWindow int      `json:"contextWindow,omitempty"`
	Reasoning     bool     `json:"reasoning"`
	Input         []string `json:"input"`
}

// answerModels answers models.list with the configured models, and the built-in model if an agent would use it.
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

// modelsMeant returns the models that a name, provider/model or model alone in any case, may refer to, and all models.
func modelsMeant(c *config.Config, name string) (fits, known []string) {
	for _, m := range modelsOf(c) {
		ref := m.Provider + "/" + m.ID
		known = append(known, ref)
		if strings.EqualFold(ref, name) || strings.EqualFold(m.ID, name) {
			fits = append(fits, ref)
		}
	}
	if slices.Contains(fits, name) {
		fits = []string{name}
	}
	return fits, known
}

// modelAsked returns the model a client requests for a session. An agent's own model is always allowed.
func modelAsked(c *config.Config, agentID, name string) (ref string, err error) {
	if name == c.ModelFor(agentID).Primary {
		return name, nil
	}
	fits, known := modelsMeant(c, name)
	switch len(fits) {
	case 0:
		return "", invalidRequest("model not allowed: "+echo(name), fault{Code: run.CodeUnknownModel, Field: "model", Value: echo(name),
			Hint: "name one from models.list, or null for the configured model", Known: known})
	case 1:
		return fits[0], nil
	}
	return "", invalidRequest("invalid model: "+echo(name), fault{Code: run.CodeUnknownModel, Field: "model", Value: echo(name),
		Hint: "name the provider too", Known: fits})
}

func usesScripted(c *config.Config) bool {
	return slices.ContainsFunc(agentsOf(c), func(a config.Agent) bool {
		choice := c.ModelFor(a.ID)
		return choice.Primary == config.ScriptedModel || slices.Contains(choice.Fallbacks, config.ScriptedModel)
	})
}
