package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	webhookSink = "webhook"

	maxData = 256 << 10 // bytes of event data that are sent
)

// WebhookKind is the kind of the work of calling a webhook.
const WebhookKind = "webhook"

// WebhookPool is the pool of that work.
const WebhookPool = "webhooks"

// webhooks is the sink webhook.
type webhooks struct{ w *watch }

func (h *webhooks) id() string { return webhookSink }

func (h *webhooks) enabled(c *config.Config) bool {
	s := sinkOf(c, webhookSink)
	return s != nil && s.Webhook.URL != ""
}

// webhookCall is the body of a webhook call, and the payload of work of WebhookKind.
type webhookCall struct {
	SinkID string       `json:"sinkId"`
	Event  webhookEvent `json:"event"`
}

// webhookEvent is an event in a webhook call.
type webhookEvent struct {
	Type           string          `json:"type"`
	Seq            int64           `json:"seq"`
	ID             string          `json:"id"`
	AgentID        string          `json:"agentId"`
	TS             int64           `json:"ts"`                  // ms since 1970
	Data           json.RawMessage `json:"data"`                // null if it is too long
	DataBytes      int             `json:"dataBytes,omitempty"` // beginning of data that is too long
	WorkSessionID  string          `json:"workSessionId,omitempty"`
	ConversationID string          `json:"conversationId,omitempty"`
}

func (h *webhooks) notification(_ context.Context, c *config.Config, e *eventstore.Event) (*notification, error) {
	wants, err := wantsEvent(sinkOf(c, webhookSink).Webhook.Events, e)
	if err != nil || !wants {
		return nil, err
	}
	var in coordination.Context
	if json.Unmarshal(e.Data, &in) != nil {
		in = coordination.Context{} // data of another shape is left out
	}
	event := webhookEvent{Type: e.Type, Seq: e.Seq, ID: e.ID.String(), AgentID: e.AgentID, TS: e.TS,
		WorkSessionID: in.WorkSessionID, ConversationID: in.ConversationID}
	if event.Data = masked(e.Data); len(event.Data) > maxData {
		event.Data, event.DataBytes = json.RawMessage("null"), len(e.Data)
	}
	payload, err := json.Marshal(webhookCall{webhookSink, event})
	if err != nil {
		return nil, &permanentError{fmt.Errorf("encode the webhook payload: %w", err)}
	}
	key := webhookSink + "/" + short(in.ConversationID)
	if in.ConversationID == "" {
		key = webhookSink + "/" + e.Stream
	}
	return &notification{work: func(eventstore.Tx) (*coordination.WorkScheduled, error) {
		return &coordination.WorkScheduled{Context: contextOf(&in), EffectID: "report/" + webhookSink + "/" + strconv.FormatInt(e.Seq, 10),
			Kind: WebhookKind, Pool: WebhookPool, Key: key, Payload: payload}, nil
	}}, nil
}

// wantsEvent reports whether a webhook with these events gets one of a type: types, families such as a2a.*, or *. Without any it gets
// the messages between agents. Events that the notifier itself causes are never sent.
func wantsEvent(asked []string, e *eventstore.Event) (bool, error) {
	for _, own := range []string{"work.", "sink."} {
		if strings.HasPrefix(e.Type, own) {
			return false, nil
		}
	}
	if len(asked) == 0 {
		x, err := exchangeOf(e)
		return x != nil, err
	}
	return slices.ContainsFunc(asked, func(what string) bool {
		family, isFamily := strings.CutSuffix(what, "*")
		return what == e.Type || isFamily && strings.HasPrefix(e.Type, family)
	}), nil
}

// masked returns the data of an event with secrets masked.
func masked(data json.RawMessage) json.RawMessage {
	if clean := []byte(coordination.Mask(string(data))); json.Valid(clean) {
		return clean
	}
	clean := make([]byte, 0, len(data)) // a secret went on beyond the end of its text
	for len(data) > 0 {
		begin, end := textIn(data)
		clean = append(clean, data[:begin]...)
		clean = append(clean, maskedText(data[begin:end])...)
		data = data[end:]
	}
	return clean
}

// textIn returns the position of the first string in JSON, with its quotes; the end if there is none.
func textIn(data []byte) (begin, end int) {
	begin = bytes.IndexByte(data, '"')
	if begin < 0 {
		return len(data), len(data)
	}
	for end = begin + 1; end < len(data) && data[end] != '"'; end++ {
		if data[end] == '\\' {
			end++
		}
	}
	return begin, min(end+1, len(data))
}

func maskedText(quoted []byte) []byte {
	var text string
	if len(quoted) == 0 || json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	if clean := coordination.Mask(text); clean != text {
		if again, err := json.Marshal(clean); err == nil {
			return again
		}
	}
	return quoted
}
