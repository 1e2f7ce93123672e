package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Model names that stand for the default agent.
const (
	usualModel   = "openclaw" // the model name in answers if the client named none
	defaultModel = "openclaw/default"
)

type model struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	Created    int64  `json:"created"`
	OwnedBy    string `json:"owned_by"`
	Permission []any  `json:"permission"`
}

func modelNamed(id string) model { return model{id, "model", 0, usualModel, []any{}} }

func (s *Server) models() []string {
	names := []string{usualModel, defaultModel}
	for _, agent := range s.opts.Agents() {
		if name := usualModel + "/" + agent; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{}}
	for _, name := range s.models() {
		list.Data = append(list.Data, modelNamed(name))
	}
	s.writeJSON(w, http.StatusOK, list)
}

// showModel answers GET /v1/models/{id}, for every name that selects an agent.
func (s *Server) showModel(w http.ResponseWriter, id string) {
	name := strings.ToLower(id)
	if agent := agentIn(name); agent != "" {
		name = usualModel + "/" + agent
	}
	if !slices.Contains(s.models(), name) {
		f := invalid(fmt.Sprintf("Model '%s' not found.", coordination.Clip(id, maxHeader)), "model", "model_not_found")
		f.status = http.StatusNotFound
		s.fail(w, f)
		return
	}
	s.writeJSON(w, http.StatusOK, modelNamed(id))
}
