package rest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/pronto-lab/openclawd/coordination"
)

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	f, bad := read(w, r, maxAsk)
	if bad != nil {
		s.fail(w, bad)
		return
	}
	q, bad := s.chatQuestion(r, f)
	if bad != nil {
		s.fail(w, bad)
		return
	}
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	if bad = f.into("stream_options", "an object", &options); bad != nil {
		s.fail(w, bad)
		return
	}
	s.answer(w, r, q, &chatResponder{id: idOf(familyChat, q), created: s.opts.Now().Unix(), model: q.model, usage: options.IncludeUsage})
}

// idOf is the id of an answer: derived from its run if the run is ours, else the same for equal requests.
func idOf(family string, q *agentRequest) string {
	if q.once {
		return family + "_" + digest(q.runID)
	}
	return q.runID
}

func (s *Server) chatQuestion(r *http.Request, f fields) (*agentRequest, *failure) {
	q := &agentRequest{}
	var written []struct {
		Role       string          `json:"role"`
		Name       string          `json:"name"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	choices := 1
	if bad := firstFailure(f.into("messages", "a list of messages", &written), f.into("n", "a number", &choices)); bad != nil {
		return nil, bad
	}
	if choices != 1 {
		return nil, invalid("`n` must be 1: an agent gives one answer", "n", "unsupported_value")
	}
	turns := make([]turn, 0, len(written))
	for i, m := range written {
		at := fmt.Sprintf("messages[%d]", i)
		t := turn{role: roleOf(m.Role), name: m.Name}
		if t.role == "" {
			return nil, invalid(fmt.Sprintf("`%s.role` %q is not known: use system, developer, user, assistant or tool", at, coordination.Clip(m.Role, maxHeader)),
				at+".role", "invalid_value")
		}
		if t.role == toolRole && t.name == "" {
			t.name = m.ToolCallID
		}
		if bad := t.readContent(m.Content, at+".content"); bad != nil {
			return nil, bad
		}
		turns = append(turns, t)
		for _, c := range m.ToolCalls {
			turns = append(turns, called(c.Function.Name, c.Function.Arguments))
		}
	}
	return q, s.complete(q, r, f, turns, familyChat, "Missing user message in `messages`.", "messages")
}

// called is an assistant turn that calls a tool.
func called(name, arguments string) turn {
	return turn{role: assistant, text: "(calls " + name + " with " + arguments + ")"}
}

// complete reads the members common to both APIs, once the conversation is known.
func (s *Server) complete(q *agentRequest, r *http.Request, f fields, turns []turn, family, silent, param string) *failure {
	var name string
	q.model = usualModel
	bad := firstFailure(f.into("model", "a text", &q.model), f.into("stream", "true or false", &q.stream), f.into("user", "a text", &name), noTools(f))
	if bad != nil {
		return bad
	}
	q.model = coordination.Clip(q.model, maxHeader)
	conversation, ok, err := fold(turns)
	switch {
	case err != nil:
		return internalError()
	case !ok:
		return invalid(silent, param, "missing_user_message")
	}
	q.said = conversation
	q.sessionRequest, bad = s.whom(r, q.model, name, family)
	return bad
}

// noTools refuses tools of the client: agents use their own tools, and the client would wait in vain for calls of its
// own. With tool_choice none it may list them.
func noTools(f fields) *failure {
	choice := "auto"
	for _, param := range [...]string{"tool_choice", "function_call"} { // the second is the older name of the first
		if f.has(param) && (json.Unmarshal(f[param], &choice) != nil || choice != "auto" && choice != "none") {
			return invalid("`"+param+"` must be auto or none: client tools are not called", param, "unsupported_value")
		}
	}
	for _, param := range [...]string{"tools", "functions"} {
		var tools []json.RawMessage
		if bad := f.into(param, "a list", &tools); bad != nil {
			return bad
		}
		if len(tools) > 0 && choice != "none" {
			return invalid("`"+param+"` are not called: an agent uses its own tools. Leave them out, or send `tool_choice` none", param, "unsupported_parameter")
		}
	}
	return nil
}

func firstFailure(all ...*failure) *failure {
	for _, f := range all {
		if f != nil {
			return f
		}
	}
	return nil
}

type chatResponder struct {
	id      string
	created int64
	model   string
	usage   bool // the stream ends with the usage
}

type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index   int          `json:"index"`
	Message *chatMessage `json:"message,omitempty"` // in a complete answer
	Delta   *chatMessage `json:"delta,omitempty"`   // in a chunk
	Finish  *string      `json:"finish_reason"`
}

type chatMessage struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

func (v *chatResponder) usageOf(o *outcome) *chatUsage {
	return &chatUsage{o.usage.Input, o.usage.Output, o.usage.Total}
}

func finishOf(o *outcome) *string {
	reason := map[string]string{"length": "length", "filtered": "content_filter"}[o.stop]
	if reason == "" {
		reason = "stop"
	}
	return &reason
}

func (v *chatResponder) whole(o *outcome) any {
	text := o.all()
	return &chatCompletion{v.id, "chat.completion", v.created, v.model,
		[]chatChoice{{Message: &chatMessage{assistant, &text}, Finish: finishOf(o)}}, v.usageOf(o)}
}

func (v *chatResponder) chunk(s *stream, choices []chatChoice, usage *chatUsage) {
	s.event("", &chatCompletion{v.id, "chat.completion.chunk", v.created, v.model, choices, usage})
}

func (v *chatResponder) begin(s *stream) {
	v.chunk(s, []chatChoice{{Delta: &chatMessage{Role: assistant}}}, nil)
}

func (v *chatResponder) delta(s *stream, delta string) {
	v.chunk(s, []chatChoice{{Delta: &chatMessage{Content: &delta}}}, nil)
}

func (v *chatResponder) fail(s *stream, why *failure) { s.event("", failureBody{why}) }

// end sends the finish reason, without which some clients assume a broken stream, and the usage if requested.
func (v *chatResponder) end(s *stream, o *outcome) {
	v.chunk(s, []chatChoice{{Delta: &chatMessage{}, Finish: finishOf(o)}}, nil)
	if v.usage {
		v.chunk(s, []chatChoice{}, v.usageOf(o))
	}
}
