package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// maxInjected is how many bytes an injected message may have. One above maxShownMessage is kept, and histories say that it is too large.
const maxInjected = 1 << 20

// What messages say of themselves that no model has written.
const (
	injectedAPI      = "openai-responses"
	injectedProvider = "openclaw"
	injectedModel    = "gateway-injected"
)

type injectAnswer struct {
	OK        bool   `json:"ok"`
	MessageID string `json:"messageId"`
}

// chatEvent tells everybody what is said in a session.
type chatEvent struct {
	RunID      string        `json:"runId"`
	SessionKey string        `json:"sessionKey"`
	Seq        int64         `json:"seq"`
	State      string        `json:"state"` // delta, final, aborted, error
	Message    *shownMessage `json:"message,omitempty"`

	DeltaText    *string `json:"deltaText,omitempty"` // of deltas: what is new, as clients of protocol 4 read it
	Replace      bool    `json:"replace,omitempty"`   // DeltaText is all there is, and not what is added
	ErrorMessage string  `json:"errorMessage,omitempty"`
	StopReason   string  `json:"stopReason,omitempty"` // rpc, stop, timeout, and what else ends runs
}

// eventChat tells everybody what is said in sessions.
const eventChat = "chat"

// shownUsage is what an answer has cost; of an injected one nothing.
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

// injectChat answers chat.inject: it writes a message into the transcript of a session, as if its agent had said it. The feed tells everybody.
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
			Mend: fmt.Sprintf("shorten it to %d bytes", maxInjected)})
	}
	text, label := coordination.Mask(p.Message), coordination.Mask(p.Label)
	if label != "" {
		text = "[" + label + "]\n\n" + text
	}
	id := s.opts.NewID()
	message := coordination.SessionMessage{MessageID: id, Author: authorAssistant, Text: text, Label: label, By: clientOf(call.Peer),
		API: injectedAPI, Provider: injectedProvider, Model: injectedModel, StopReason: "stop"}
	told := s.feed.expect()
	done, err := s.change(ctx, call, c, change{key: key,
		decide: func(_ eventstore.Tx, state decide.State, by decide.Command) ([]decide.Event, error) {
			return decide.Say(state, decide.SayCommand{Command: by, Message: message, Existing: true})
		}})
	told(done.seq)
	if err != nil {
		return nil, err
	}
	return injectAnswer{OK: true, MessageID: id}, nil
}

// isInjected reports whether a client has put a message into a transcript, without a run and without a command.
func isInjected(m *coordination.SessionMessage) bool {
	return m.Provider == injectedProvider && m.Model == injectedModel && m.RunID == ""
}

// tellInjected tells everybody of a message that no model has made. e says of which run and session.
func (s *Server) tellInjected(e chatEvent, m *coordination.SessionMessage, at int64) {
	content, err := textContent(m.Text)
	if err != nil { // a text always can be encoded
		return
	}
	e.State, e.Message = "final", &shownMessage{Role: authorAssistant, Content: content, Timestamp: at, StopReason: m.StopReason,
		Usage: &shownUsage{}, API: m.API, Provider: m.Provider, Model: m.Model}
	s.hub.Broadcast(wire.Event{Name: eventChat, Payload: e})
}
