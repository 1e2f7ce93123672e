package gateway

import (
	"context"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// chatMetadata is what a page shows beside a transcript: which models can be chosen, and which commands can be typed.
type chatMetadata struct {
	Models   []modelInfo `json:"models"`
	Commands []any       `json:"commands"`     // there are none here
	Swarm    bool        `json:"swarmEnabled"` // nor do agents run
}

func metadataOf(c *config.Config) *chatMetadata {
	return &chatMetadata{Models: modelsOf(c), Commands: []any{}}
}

// chatStartup answers chat.startup, with which the Control UI begins: a session's transcript, and what is shown beside it.
func (s *Server) chatStartup(ctx context.Context, call *wire.Call) (any, error) {
	a, err := s.history(ctx, call)
	if err != nil {
		return nil, err
	}
	a.Metadata = metadataOf(s.opts.Configuration.InForce())
	return encoded(a)
}

// chatMetadata answers chat.metadata, of a session or of an agent. It is the same for all of them: what they may choose from.
func (s *Server) chatMetadata(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		AgentID    string `json:"agentId"`
		SessionKey string `json:"sessionKey"`
		Account    string `json:"authProfileId"`
	}](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	id, err := agentMeant(c, call.Method, p.AgentID, p.SessionKey)
	if err != nil {
		return nil, err
	}
	if err := mayHaveSessions(c, "agentId", id); err != nil {
		return nil, err
	}
	if p.Account != "" {
		return nil, invalidRequest("no accounts of models are kept here",
			fault{Code: "not_kept", Field: "authProfileId", Value: echo(p.Account), Mend: "leave it out"})
	}
	return encoded(metadataOf(c))
}
