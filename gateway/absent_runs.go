package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// noRuns is the code of every refusal that is due to agents not running here.
const noRuns = "runs_not_available"

func cannotRun() error {
	return notHere(noRuns, "no agent runs here yet: openclawd keeps sessions and their transcripts, and nobody answers in them; "+
		"write into a session with chat.inject, or ask the gateway whose agents run")
}

// runAgent answers agent: what the request has wrong is said first, so that nobody mends it only to hear that no agent runs.
func (s *Server) runAgent(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		AgentID      string `json:"agentId"`
		SessionKey   string `json:"sessionKey"`
		Channel      string `json:"channel"`
		ReplyChannel string `json:"replyChannel"`
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
		return nil, ofParams(call.Method, err)
	}
	for field, channel := range map[string]string{"channel": p.Channel, "replyChannel": p.ReplyChannel} {
		if name := channelNamed(channel); name != "" && name != "last" && name != webchat && name != discordChannel {
			return nil, invalidRequest(fmt.Sprintf("invalid agent params: unknown channel: %s", channel), fault{Field: field, Value: channel})
		}
	}
	return nil, cannotRun()
}

// sendChat answers chat.send.
func (s *Server) sendChat(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		SessionKey  string            `json:"sessionKey"`
		Message     string            `json:"message"`
		Attachments []json.RawMessage `json:"attachments"`
	}](call)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.Contains(p.Message, "\x00"):
		return nil, invalidRequest("message must not contain null bytes", fault{Field: "message", Mend: "take out U+0000"})
	case coordination.TrimJS(p.Message) == "" && len(p.Attachments) == 0:
		return nil, invalidRequest("message or attachment required", fault{Field: "message", Value: p.Message, Mend: "say something"})
	}
	c := s.opts.Configuration.InForce()
	key, err := sessionKeyOf(c, "sessionKey", p.SessionKey)
	if err != nil {
		return nil, err
	}
	if err := mayHaveSessions(c, "sessionKey", agentOf(c, key)); err != nil {
		return nil, err
	}
	return nil, cannotRun()
}

// abortAnswer answers chat.abort: nothing runs that could be stopped.
type abortAnswer struct {
	OK      bool     `json:"ok"`
	Aborted bool     `json:"aborted"`
	RunIDs  []string `json:"runIds"`
}

// waitAnswer answers agent.wait.
type waitAnswer struct {
	RunID  string `json:"runId"`
	Status string `json:"status"`
}

// waitForRun answers agent.wait. A run that nobody knows may begin at any time, so the whole time is waited, unless the client leaves.
func (s *Server) waitForRun(ctx context.Context, call *wire.Call) (any, error) {
	const usual, longest = 30_000, 1<<31 - 1
	p, err := paramsOf[struct {
		RunID     string   `json:"runId"`
		TimeoutMs *float64 `json:"timeoutMs"`
	}](call)
	if err != nil {
		return nil, err
	}
	wait := float64(usual)
	if p.TimeoutMs != nil {
		wait = min(*p.TimeoutMs, longest)
	}
	timer := time.NewTimer(time.Duration(wait) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return waitAnswer{p.RunID, "timeout"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
