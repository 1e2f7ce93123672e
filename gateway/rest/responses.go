package rest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/pronto-lab/openclawd/coordination"
)

func (s *Server) responses(w http.ResponseWriter, r *http.Request) {
	f, bad := read(w, r, maxAsk)
	if bad != nil {
		s.fail(w, bad)
		return
	}
	q, bad := s.responseQuestion(r, f)
	if bad != nil {
		s.fail(w, bad)
		return
	}
	id := idOf(familyResponses, q)
	s.answer(w, r, q, &responseResponder{id: id, item: "msg_" + digest(id), created: s.opts.Now().Unix(), model: q.model})
}

func (s *Server) responseQuestion(r *http.Request, f fields) (*agentRequest, *failure) {
	if !f.has("model") {
		return nil, invalid("`model` is required: openclaw, or openclaw:<agent>", "model", "missing_required_parameter")
	}
	if f.has("previous_response_id") || f.has("conversation") {
		return nil, invalid("earlier responses are not stored: give the conversation as `input`, or name a session with `user`",
			"previous_response_id", "unsupported_parameter")
	}
	var instructions string
	if bad := f.into("instructions", "a text", &instructions); bad != nil {
		return nil, bad
	}
	turns, bad := inputOf(f)
	if bad != nil {
		return nil, bad
	}
	turns = append([]turn{{role: system, text: instructions}}, turns...)
	q := &agentRequest{}
	return q, s.complete(q, r, f, turns, familyResponses, "Missing user message in `input`.", "input")
}

type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	CallID    string          `json:"call_id"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

func inputOf(f fields) ([]turn, *failure) {
	var text string
	if f.has("input") && json.Unmarshal(f["input"], &text) == nil {
		return []turn{{role: user, text: text}}, nil
	}
	var items []item
	if bad := f.into("input", "a text or a list of items", &items); bad != nil {
		return nil, bad
	}
	turns := make([]turn, 0, len(items))
	for i, one := range items {
		at := fmt.Sprintf("input[%d]", i)
		t := turn{role: roleOf(one.Role)}
		content, within := one.Content, ".content"
		switch one.Type {
		case "", "message":
			if t.role == "" {
				return nil, invalid(fmt.Sprintf("`%s.role` %q is not known: use system, developer, user or assistant", at, coordination.Clip(one.Role, maxHeader)), at+".role", "invalid_value")
			}
		case "function_call":
			t, content = called(one.Name, one.Arguments), nil
		case "function_call_output":
			t, content, within = turn{role: toolRole, name: one.CallID}, one.Output, ".output"
		case "reasoning", "item_reference": // from another model, or not stored
			continue
		default:
			return nil, invalid(fmt.Sprintf("`%s` is of type %q, which is not supported", at, coordination.Clip(one.Type, maxHeader)), at+".type", "unsupported_content")
		}
		if bad := t.readContent(content, at+within); bad != nil {
			return nil, bad
		}
		turns = append(turns, t)
	}
	return turns, nil
}

type responseResponder struct {
	id, item string
	created  int64
	model    string

	seq  int    // of events
	said []byte // streamed so far
}

type response struct {
	ID         string          `json:"id"`
	Object     string          `json:"object"`
	CreatedAt  int64           `json:"created_at"`
	Status     string          `json:"status"`
	Incomplete *incomplete     `json:"incomplete_details,omitempty"`
	Model      string          `json:"model"`
	Output     []outputMessage `json:"output"`
	Error      *responseError  `json:"error,omitempty"`
	Usage      *responseUsage  `json:"usage,omitempty"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type outputMessage struct {
	Type    string       `json:"type"`
	ID      string       `json:"id"`
	Role    string       `json:"role"`
	Content []outputText `json:"content"`
	Status  string       `json:"status"`
}

type outputText struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
}

type responseUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

// Statuses of responses, and types of their parts.
const (
	inProgress = "in_progress"
	completed  = "completed"
	unfinished = "incomplete"
	failed     = "failed"
)

func (v *responseResponder) response(status string) *response {
	return &response{ID: v.id, Object: "response", CreatedAt: v.created, Status: status, Model: v.model, Output: []outputMessage{}}
}

func (v *responseResponder) message(status string, parts ...outputText) outputMessage {
	return outputMessage{"message", v.item, assistant, append([]outputText{}, parts...), status}
}

func textPart(text string) outputText { return outputText{"output_text", text, []any{}} }

// over returns the final response.
func (v *responseResponder) over(o *outcome, text string) *response {
	r := v.response(completed)
	switch o.stop {
	case "length":
		r.Status, r.Incomplete = unfinished, &incomplete{"max_output_tokens"}
	case "filtered":
		r.Status, r.Incomplete = unfinished, &incomplete{"content_filter"}
	}
	r.Output = append(r.Output, v.message(r.Status, textPart(text)))
	r.Usage = &responseUsage{o.usage.Input, o.usage.Output, o.usage.Total}
	return r
}

func (v *responseResponder) whole(o *outcome) any { return v.over(o, o.all()) }

// responseEvent is a stream event; its members depend on its type.
type responseEvent struct {
	Type     string         `json:"type"`
	Sequence int            `json:"sequence_number"`
	Response *response      `json:"response,omitempty"`
	ItemID   string         `json:"item_id,omitempty"`
	Output   *int           `json:"output_index,omitempty"`
	Content  *int           `json:"content_index,omitempty"`
	Item     *outputMessage `json:"item,omitempty"`
	Part     *outputText    `json:"part,omitempty"`
	Delta    string         `json:"delta,omitempty"`
	Text     *string        `json:"text,omitempty"`
}

func (v *responseResponder) writeEvent(s *stream, e *responseEvent) {
	e.Sequence = v.seq
	v.seq++
	s.event(e.Type, e)
}

func (v *responseResponder) begin(s *stream) {
	zero, message, part := 0, v.message(inProgress), textPart("")
	v.writeEvent(s, &responseEvent{Type: "response.created", Response: v.response(inProgress)})
	v.writeEvent(s, &responseEvent{Type: "response.in_progress", Response: v.response(inProgress)})
	v.writeEvent(s, &responseEvent{Type: "response.output_item.added", Output: &zero, Item: &message})
	v.writeEvent(s, &responseEvent{Type: "response.content_part.added", ItemID: v.item, Output: &zero, Content: &zero, Part: &part})
}

func (v *responseResponder) delta(s *stream, delta string) {
	zero := 0
	v.said = append(v.said, delta...)
	v.writeEvent(s, &responseEvent{Type: "response.output_text.delta", ItemID: v.item, Output: &zero, Content: &zero, Delta: delta})
}

func (v *responseResponder) fail(s *stream, why *failure) {
	r := v.response(failed)
	if len(v.said) > 0 {
		r.Output = append(r.Output, v.message(unfinished, textPart(string(v.said))))
	}
	r.Error = &responseError{"server_error", why.Message}
	if why.Code != nil {
		r.Error.Code = *why.Code
	}
	v.writeEvent(s, &responseEvent{Type: "response.failed", Response: r})
}

// end repeats the whole text, including what came before tool calls.
func (v *responseResponder) end(s *stream, o *outcome) {
	zero, text := 0, string(v.said)
	last, part := v.over(o, text), textPart(text)
	message := last.Output[0]
	v.writeEvent(s, &responseEvent{Type: "response.output_text.done", ItemID: v.item, Output: &zero, Content: &zero, Text: &text})
	v.writeEvent(s, &responseEvent{Type: "response.content_part.done", ItemID: v.item, Output: &zero, Content: &zero, Part: &part})
	v.writeEvent(s, &responseEvent{Type: "response.output_item.done", Output: &zero, Item: &message})
	v.writeEvent(s, &responseEvent{Type: "response." + last.Status, Response: last})
}
