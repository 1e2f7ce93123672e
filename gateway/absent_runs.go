package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/config"
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
		return nil, cannotRun()
	}
	return struct {
		OK      bool `json:"ok"`
		Enabled bool `json:"enabled"`
	}{OK: true}, nil
}

func (s *Server) wake(context.Context, *wire.Call) (any, error) { return nil, cannotRun() }

// webchat is the channel of those who look at a session here: it delivers nothing to anywhere.
const webchat = "webchat"

func channelNamed(s string) string { return strings.ToLower(coordination.TrimJS(s)) }

func (s *Server) send(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Message   string   `json:"message"`
		MediaURL  string   `json:"mediaUrl"`
		MediaURLs []string `json:"mediaUrls"`
		Channel   *string  `json:"channel"`
	}](call)
	if err != nil {
		return nil, err
	}
	if coordination.TrimJS(p.Message+p.MediaURL+strings.Join(p.MediaURLs, "")) == "" {
		return nil, invalidRequest("invalid send params: text or media is required", fault{Field: "message", Mend: "give a message, mediaUrl or mediaUrls"})
	}
	if p.Channel != nil && channelNamed(*p.Channel) == webchat {
		return nil, invalidRequest("unsupported channel: webchat (internal-only). Use chat.send for who looks at a session, or a channel that delivers",
			fault{Field: "channel", Value: *p.Channel})
	}
	return nil, cannotDeliver(s.opts.Configuration.InForce(), "unsupported channel: ", p.Channel)
}

func (s *Server) poll(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Channel *string `json:"channel"`
	}](call)
	if err != nil {
		return nil, err
	}
	return nil, cannotDeliver(s.opts.Configuration.InForce(), "unsupported poll channel: ", p.Channel)
}

// cannotDeliver says why nothing goes out through a channel, or through the only one where none is named.
func cannotDeliver(c *config.Config, unsupported string, channel *string) error {
	switch {
	case channel != nil && *channel != "" && channelNamed(*channel) != discordChannel:
		return invalidRequest(unsupported+*channel, fault{Field: "channel", Value: *channel, Known: []string{discordChannel}})
	case !isConfigured(discordAccounts(c)):
		return notHere("no_channel", "no channel is configured: give channels.discord an account with a token")
	}
	return notHere("channel_not_connected", "discord is configured, and openclawd does not connect to it yet")
}
