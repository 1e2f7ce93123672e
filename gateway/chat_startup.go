package gateway

import (
	"context"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// chatMetadata is what a page shows beside a transcript: selectable models and available commands.
type chatMetadata struct {
	Models   []modelInfo   `json:"models"`
	Commands []commandInfo `json:"commands"`
	Swarm    bool          `json:"swarmEnabled"` // agents that share one prompt: there are none
}

func (s *Server) metadata(c *config.Config) *chatMetadata {
	return &chatMetadata{Models: modelsOf(c), Commands: s.commandInfos()}
}

type commandInfo struct {
	Name        string   `json:"name"`
	Aliases     []string `json:"textAliases"`
	Description string   `json:"description"`
	Source      string   `json:"source"` // native
	Scope       string   `json:"scope"`  // both
	AcceptsArgs bool     `json:"acceptsArgs"`
}

// commandInfos are the available commands: none where no agents run.
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

func (s *Server) answerCommands(context.Context, *wire.Call) (any, error) {
	return map[string][]commandInfo{"commands": s.commandInfos()}, nil
}

// chatStartup answers chat.startup, the Control UI's first call: a session's transcript and what is shown beside it.
func (s *Server) chatStartup(ctx context.Context, call *wire.Call) (any, error) {
	a, err := s.history(ctx, call)
	if err != nil {
		return nil, err
	}
	a.Metadata = s.metadata(s.opts.Configuration.InForce())
	return a.encode()
}

// chatMetadata answers chat.metadata for a session or an agent. The choices are the same for all of them.
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
		return nil, invalidRequest("model accounts are not supported",
			fault{Code: "not_kept", Field: "authProfileId", Value: echo(p.Account), Hint: "leave it out"})
	}
	return encoded(s.metadata(c))
}
