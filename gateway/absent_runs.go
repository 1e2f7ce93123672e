package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// noRuns is the code of refusals caused by this gateway running no agents, or none on its own.
const noRuns = "runs_not_available"

func cannotRun() error {
	return notHere(noRuns, "no agents run here: openclawd stores sessions and their transcripts but does not answer in them; "+
		"append to a session with chat.inject, or ask the gateway that runs the agents")
}

func (s *Server) setHeartbeats(_ context.Context, call *wire.Call) (any, error) {
	var p struct {
		Enabled *bool `json:"enabled"`
	}
	if json.Unmarshal(call.Params, &p) != nil || p.Enabled == nil {
		return nil, invalidRequest("invalid set-heartbeats params: enabled (boolean) required", fault{Field: "enabled", Hint: "give true or false"})
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

// noHeartbeats refuses a system event, which an agent would read with its next heartbeat.
func (s *Server) noHeartbeats() error {
	if s.opts.Runs == nil {
		return cannotRun()
	}
	return notHere("heartbeats_not_available", "the event reached no agent: agents have no heartbeats here, with which they would read system events; "+
		"send the text as a message (openclaw agent --message, chat.send), which wakes the agent")
}

// webchat is the channel of clients that show a session here. It delivers nothing elsewhere.
const webchat = "webchat"

func channelNamed(s string) string { return strings.ToLower(coordination.TrimJS(s)) }

func (s *Server) poll(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Channel *string `json:"channel"`
		To      string  `json:"to"`
	}](call)
	if err != nil {
		return nil, err
	}
	if _, err := s.channelOf(s.opts.Configuration.InForce(), "unsupported poll channel: ", p.Channel, p.To); err != nil {
		return nil, err
	}
	return nil, notHere("polls_not_available", "openclawd posts no polls: use send, and let people answer with text")
}
