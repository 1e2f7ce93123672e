package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Names of models that stand for the default agent.
const (
	usualModel   = "openclaw" // what answers call the model where the client has named none
	defaultModel = "openclaw/default"
)

// model is an agent as clients of OpenAI's API list it.
type model struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	Created    int64  `json:"created"`
	OwnedBy    string `json:"owned_by"`
	Permission []any  `json:"permission"`
}

func modelNamed(id string) model { return model{id, "model", 0, usualModel, []any{}} }

// models are the names under which agents can be asked.
func (s *Server) models() []string {
	names := []string{usualModel, defaultModel}
	for _, agent := range s.opts.Agents() {
		if name := usualModel + "/" + agent; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// listModels answers GET /v1/models.
func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{}}
	for _, name := range s.models() {
		list.Data = append(list.Data, modelNamed(name))
	}
	s.tell(w, http.StatusOK, list)
}

// showModel answers GET /v1/models/{id}, for every name by which an agent can be asked.
func (s *Server) showModel(w http.ResponseWriter, id string) {
	name := strings.ToLower(id)
	if agent := agentIn(name); agent != "" {
		name = usualModel + "/" + agent
	}
	if !slices.Contains(s.models(), name) {
		f := invalid(fmt.Sprintf("Model '%s' not found.", cut(id)), "model", "model_not_found")
		f.status = http.StatusNotFound
		s.fail(w, f)
		return
	}
	s.tell(w, http.StatusOK, modelNamed(id))
}
