package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// noRuns is the code of every refusal that is due to no agent running here, or not by itself.
const noRuns = "runs_not_available"

func cannotRun() error {
	return notHere(noRuns, "no agent runs here yet: openclawd keeps sessions and their transcripts, and nobody answers in them; "+
		"write into a session with chat.inject, or ask the gateway whose agents run")
}

func (s *Server) setHeartbeats(_ context.Context, call *wire.Call) (any, error) {
	var p struct {
		Enabled *bool `json:"enabled"`
	}
	if json.Unmarshal(call.Params, &p) != nil || p.Enabled == nil {
		return nil, invalidRequest("invalid set-heartbeats params: enabled (boolean) required", fault{Field: "enabled", Mend: "give true or false"})
	}
	if *p.Enabled {
		return nil, s.noHeartbeats()
	}
	return struct {
		OK      bool `json:"ok"`
		Enabled bool `json:"enabled"`
	}{OK: true}, nil
}

func (s *Server) wake(context.Context, *wire.Call) (any, error) { return nil, s.noHeartbeats() }

// noHeartbeats refuses what an agent would be told with its next heartbeat.
func (s *Server) noHeartbeats() error {
	if s.opts.Runs == nil {
		return cannotRun()
	}
	return notHere("heartbeats_not_available", "no agent was told: agents have no heartbeats here, with which they would read system events; "+
		"send the text as a message (openclaw agent --message, chat.send), which wakes the agent")
}

// webchat is the channel of those who look at a session here: it delivers nothing to anywhere.
const webchat = "webchat"

func channelNamed(s string) string { return strings.ToLower(coordination.TrimJS(s)) }

func (s *Server) poll(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Channel *string `json:"channel"`
	}](call)
	if err != nil {
		return nil, err
	}
	if err := s.channelOf(s.opts.Configuration.InForce(), "unsupported poll channel: ", p.Channel); err != nil {
		return nil, err
	}
	return nil, notHere("polls_not_available", "openclawd posts no polls: ask with send, and have people answer in words")
}
