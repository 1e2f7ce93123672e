package gateway

import (
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/rest"
)

// newHTTP returns the HTTP API for programs, which authenticate like protocol clients.
func (s *Server) newHTTP() *rest.Server {
	return rest.New(rest.Options{Runs: s.opts.Runs, Tools: s.tools, Offers: s.offers, Agent: s.agentOfHTTP, Session: s.sessionOfHTTP,
		Agents:      s.agentsOfHTTP,
		FailsAsHTTP: func() bool { return s.opts.Configuration.InForce().Gateway.HTTP.ModelErrors == config.ModelErrorsHTTP },
		AgentOf:     func(key coordination.SessionKey) string { return agentOf(s.opts.Configuration.InForce(), key) },
		Now:         s.opts.Now, NewID: s.opts.NewID, Logger: s.opts.Logger})
}

// offers reports whether an endpoint is enabled: OpenAI's are off by default.
func (s *Server) offers(path string) bool {
	on := s.opts.Configuration.InForce().Gateway.HTTP
	return path == rest.PathChat && on.ChatCompletions || path == rest.PathResponses && on.Responses
}

func (s *Server) agentsOfHTTP() (ids []string) {
	for _, a := range agentsOf(s.opts.Configuration.InForce()) {
		ids = append(ids, a.ID)
	}
	return ids
}

func (s *Server) agentOfHTTP(id string) (string, error) {
	c := s.opts.Configuration.InForce()
	agent, err := agentAsked(c, id)
	if err != nil {
		return "", err
	}
	_, err = keyAsked(c, "agentId", coordination.DefaultMainKey, agent) // cannot be the id of an agent with sessions
	return agent, err
}

func (s *Server) sessionOfHTTP(agent, name string) (coordination.SessionKey, error) {
	c := s.opts.Configuration.InForce()
	key, err := keyAsked(c, "sessionKey", name, agent)
	if err != nil {
		return key, err
	}
	return key, mayHaveSessions(c, "sessionKey", agentOf(c, key))
}
