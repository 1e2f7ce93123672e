package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// maxInjected is the size limit of an injected message, in bytes. One above maxShownMessage is stored, and histories
// mark it as too large.
const maxInjected = 1 << 20

// Model and provider names of messages that no model wrote.
const (
	injectedAPI      = "openai-responses"
	injectedProvider = "openclaw"
	injectedModel    = "gateway-injected"
)

type injectAnswer struct {
	OK        bool   `json:"ok"`
	MessageID string `json:"messageId"`
}

type chatEvent struct {
	RunID      string        `json:"runId"`
	SessionKey string        `json:"sessionKey"`
	Seq        int64         `json:"seq"`
	State      string        `json:"state"` // delta, final, aborted, error
	Message    *shownMessage `json:"message,omitempty"`

	DeltaText    *string `json:"deltaText,omitempty"` // of deltas: the new part, as clients of protocol 4 read it
	Replace      bool    `json:"replace,omitempty"`   // DeltaText replaces the text instead of extending it
	ErrorMessage string  `json:"errorMessage,omitempty"`
	StopReason   string  `json:"stopReason,omitempty"` // rpc, stop, timeout, or another reason
}

const eventChat = "chat"

// shownUsage is the usage of an answer; zero for an injected one.
type shownUsage struct {
	Input       int64     `json:"input"`
	Output      int64     `json:"output"`
	CacheRead   int64     `json:"cacheRead"`
	CacheWrite  int64     `json:"cacheWrite"`
	TotalTokens int64     `json:"totalTokens"`
	Cost        shownCost `json:"cost"`
}

type shownCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// injectChat answers chat.inject: it appends a message to a session's transcript as if its agent had said it. The feed
// broadcasts it.
func (s *Server) injectChat(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		SessionKey string `json:"sessionKey"`
		Message    string `json:"message"`
		Label      string `json:"label"`
		Agent      string `json:"agentId"` // of protocol 4
	}](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	key, err := keyAsked(c, "sessionKey", p.SessionKey, p.Agent)
	switch {
	case err != nil:
		return nil, err
	case strings.Contains(p.Message, "\x00") || strings.Contains(p.Label, "\x00"):
		return nil, nulInMessage()
	case len(p.Message) > maxInjected:
		return nil, invalidRequest("message too large", fault{Field: "message", Value: fmt.Sprintf("%d bytes", len(p.Message)),
			Hint: fmt.Sprintf("shorten it to %d bytes", maxInjected)})
	}
	text, label := coordination.Mask(p.Message), coordination.Mask(p.Label)
	if label != "" {
		text = "[" + label + "]\n\n" + text
	}
	id := s.opts.NewID()
	message := coordination.SessionMessage{MessageID: id, Author: authorAssistant, Text: text, Label: label, By: clientOf(call.Peer),
		API: injectedAPI, Provider: injectedProvider, Model: injectedModel, StopReason: "stop"}
	told := s.feed.expect()
	done, err := s.change(ctx, call, c, sessionChange{key: key,
		decide: func(_ eventstore.Tx, state session.State, by session.Command) ([]session.Event, error) {
			return session.Say(state, session.SayCommand{Command: by, Message: message, Existing: true})
		}})
	told(done.seq)
	if err != nil {
		return nil, err
	}
	return injectAnswer{OK: true, MessageID: id}, nil
}

// isInjected reports whether a client put a message into a transcript, without a run or a command.
func isInjected(m *coordination.SessionMessage) bool {
	return m.Provider == injectedProvider && m.Model == injectedModel && m.RunID == ""
}

// notifyInjected broadcasts a message that no model wrote. e names its run and session.
func (s *Server) notifyInjected(e chatEvent, m *coordination.SessionMessage, at int64) {
	content, err := textContent(m.Text)
	if err != nil { // encoding text cannot fail
		return
	}
	e.State, e.Message = "final", &shownMessage{Role: authorAssistant, Content: content, Timestamp: at, StopReason: m.StopReason,
		Usage: &shownUsage{}, API: m.API, Provider: m.Provider, Model: m.Model}
	s.hub.Broadcast(wire.Event{Name: eventChat, Payload: e})
}
