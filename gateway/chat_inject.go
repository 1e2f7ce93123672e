package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/session"
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
}

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

// injections answers chat.inject.
type injections struct {
	server *Server
	turns  turns
}

// answer writes a message into the transcript of a session, as if its agent had said it, and tells everybody once it is on disk. What is
// said in a session is heard in the order in which it stands in the transcript.
func (i *injections) answer(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		SessionKey string `json:"sessionKey"`
		Message    string `json:"message"`
		Label      string `json:"label"`
		Agent      string `json:"agentId"` // of protocol 4
	}](call)
	if err != nil {
		return nil, err
	}
	s := i.server
	c := s.opts.Configuration.InForce()
	key, err := keyAsked(c, "sessionKey", p.SessionKey, p.Agent)
	switch {
	case err != nil:
		return nil, err
	case strings.Contains(p.Message, "\x00") || strings.Contains(p.Label, "\x00"):
		return nil, invalidRequest("message must not contain null bytes", fault{Field: "message", Mend: "take out U+0000"})
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
	leave, err := i.turns.take(ctx, key.String())
	if err != nil {
		return nil, err
	}
	defer leave()
	done, err := s.change(ctx, call, c, change{key: key,
		decide: func(_ eventstore.Tx, state decide.State, by decide.Command) ([]decide.Event, error) {
			return decide.Say(state, decide.SayCommand{Command: by, Message: message, Existing: true})
		}})
	if err != nil {
		return nil, err
	}
	if err := s.tellInjected(key, id, &message, done.at); err != nil {
		return nil, err
	}
	seq := done.before.Messages + 1
	told, err := shownAt(&session.Message{At: done.at, Data: message}, id, seq)
	if err != nil {
		return nil, err
	}
	s.tell(ctx, c, key, sessionNews{Message: told, MessageID: id, MessageSeq: seq})
	return injectAnswer{OK: true, MessageID: id}, nil
}

// tellInjected tells everybody of a message that no run has made. The key is the whole one, with which clients compare their own.
func (s *Server) tellInjected(key coordination.SessionKey, id string, m *coordination.SessionMessage, at int64) error {
	content, err := textContent(m.Text)
	if err != nil {
		return err
	}
	payload, err := encoded(chatEvent{RunID: "inject-" + id, SessionKey: key.String(), State: "final", Message: &shownMessage{
		Role: authorAssistant, Content: content, Timestamp: at, StopReason: m.StopReason, Usage: &shownUsage{},
		API: m.API, Provider: m.Provider, Model: m.Model,
	}})
	if err != nil {
		return err
	}
	s.hub.Broadcast(wire.Event{Name: "chat", Payload: json.RawMessage(payload)})
	return nil
}
