package gateway

import (
	"context"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// chatMetadata is what a page shows beside a transcript: which models can be chosen, and which commands can be typed.
type chatMetadata struct {
	Models   []modelInfo   `json:"models"`
	Commands []commandInfo `json:"commands"`
	Swarm    bool          `json:"swarmEnabled"` // agents that work together on one prompt: there are none
}

func (s *Server) metadata(c *config.Config) *chatMetadata {
	return &chatMetadata{Models: modelsOf(c), Commands: s.commandInfos()}
}

// commandInfo is a command as clients are told of it.
type commandInfo struct {
	Name        string   `json:"name"`
	Aliases     []string `json:"textAliases"`
	Description string   `json:"description"`
	Source      string   `json:"source"` // native
	Scope       string   `json:"scope"`  // both
	AcceptsArgs bool     `json:"acceptsArgs"`
}

// commandInfos are the commands that may be typed: none, where nobody answers.
func (s *Server) commandInfos() []commandInfo {
	all := []commandInfo{}
	if s.opts.Runs == nil {
		return all
	}
	for _, one := range chatCommands() {
		all = append(all, commandInfo{one.name, []string{"/" + one.name}, one.about, "native", "both", one.args != ""})
	}
	return all
}

// answerCommands answers commands.list.
func (s *Server) answerCommands(context.Context, *wire.Call) (any, error) {
	return map[string][]commandInfo{"commands": s.commandInfos()}, nil
}

// chatStartup answers chat.startup, with which the Control UI begins: a session's transcript, and what is shown beside it.
func (s *Server) chatStartup(ctx context.Context, call *wire.Call) (any, error) {
	a, err := s.history(ctx, call)
	if err != nil {
		return nil, err
	}
	a.Metadata = s.metadata(s.opts.Configuration.InForce())
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
	return encoded(s.metadata(c))
}
