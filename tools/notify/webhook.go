package notify

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

	maxData = 256 << 10 // bytes of the data of an event that are sent
)

// WebhookKind is the kind of work that telling a webhook is.
const WebhookKind = "webhook"

// WebhookPool is its pool.
const WebhookPool = "webhooks"

// webhooks is the sink webhook.
type webhooks struct{ w *watch }

func (h *webhooks) id() string { return webhookSink }

func (h *webhooks) wanted(c *config.Config) bool {
	s := sinkOf(c, webhookSink)
	return s != nil && s.Webhook.URL != ""
}

// call is what a webhook is told, and the payload of work of WebhookKind.
type call struct {
	SinkID string `json:"sinkId"`
	Event  told   `json:"event"`
}

// told is an event as a webhook is told of it.
type told struct {
	Type           string          `json:"type"`
	Seq            int64           `json:"seq"`
	ID             string          `json:"id"`
	AgentID        string          `json:"agentId"`
	TS             int64           `json:"ts"`                  // ms since 1970
	Data           json.RawMessage `json:"data"`                // null where it is too long
	DataBytes      int             `json:"dataBytes,omitempty"` // of data that is too long
	WorkSessionID  string          `json:"workSessionId,omitempty"`
	ConversationID string          `json:"conversationId,omitempty"`
}

func (h *webhooks) tell(_ context.Context, c *config.Config, e *eventstore.Event) (*telling, error) {
	wants, err := wantsEvent(sinkOf(c, webhookSink).Webhook.Events, e)
	if err != nil || !wants {
		return nil, err
	}
	var in coordination.Context
	if json.Unmarshal(e.Data, &in) != nil {
		in = coordination.Context{} // of another shape: it is told of without
	}
	event := told{Type: e.Type, Seq: e.Seq, ID: e.ID.String(), AgentID: e.AgentID, TS: e.TS,
		WorkSessionID: in.WorkSessionID, ConversationID: in.ConversationID}
	if event.Data = masked(e.Data); len(event.Data) > maxData {
		event.Data, event.DataBytes = json.RawMessage("null"), len(e.Data)
	}
	payload, err := json.Marshal(call{webhookSink, event})
	if err != nil {
		return nil, &unsayable{fmt.Errorf("write what a webhook is told: %w", err)}
	}
	key := webhookSink + "/" + short(in.ConversationID)
	if in.ConversationID == "" {
		key = webhookSink + "/" + e.Stream
	}
	return &telling{work: func(eventstore.Tx) (*coordination.WorkScheduled, error) {
		return &coordination.WorkScheduled{Context: contextOf(&in), EffectID: "report/" + webhookSink + "/" + strconv.FormatInt(e.Seq, 10),
			Kind: WebhookKind, Pool: WebhookPool, Key: key, Payload: payload}, nil
	}}, nil
}

// wantsEvent reports whether a webhook that asks for such events is told of one: types, or families such as a2a.*, or *. Without any it is told of
// what agents say to each other. What telling it makes happen is never told.
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

// masked is the data of an event without what looks like a secret.
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

// textIn is where the first text stands in JSON, with its quotation marks; at the end where there is none.
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
