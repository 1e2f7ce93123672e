package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chat answers POST /v1/chat/completions.
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
	s.answer(w, r, q, &chatVoice{id: idOf(familyChat, q), created: s.opts.Now().Unix(), model: q.model, usage: options.IncludeUsage})
}

// idOf is the id of an answer: that of its run where that is ours, else one that is the same whenever the same is asked.
func idOf(family string, q *question) string {
	if q.once {
		return family + "_" + digest(q.runID)
	}
	return q.runID
}

func (s *Server) chatQuestion(r *http.Request, f fields) (*question, *failure) {
	q := &question{}
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
	if bad := first(f.into("messages", "a list of messages", &written), f.into("n", "a number", &choices)); bad != nil {
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
			return nil, invalid(fmt.Sprintf("`%s.role` %q is not known: use system, developer, user, assistant or tool", at, cut(m.Role)),
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

// called is a turn in which an assistant has called a tool.
func called(name, arguments string) turn {
	return turn{role: assistant, text: "(calls " + name + " with " + arguments + ")"}
}

// complete reads what both APIs have, once the conversation is known.
func (s *Server) complete(q *question, r *http.Request, f fields, turns []turn, family, silent, param string) *failure {
	var name string
	q.model = usualModel
	bad := first(f.into("model", "a text", &q.model), f.into("stream", "true or false", &q.stream), f.into("user", "a text", &name), noTools(f))
	if bad != nil {
		return bad
	}
	q.model = cut(q.model)
	conversation, ok, err := fold(turns)
	switch {
	case err != nil:
		return internalError()
	case !ok:
		return invalid(silent, param, "missing_user_message")
	}
	q.said = conversation
	q.asked, bad = s.whom(r, q.model, name, family)
	return bad
}

// noTools refuses a client that brings tools of its own: agents call those that they have, and a client that waits for calls of its tools would wait
// in vain. One that says that none is to be called may list them.
func noTools(f fields) *failure {
	choice := "auto"
	for _, param := range [...]string{"tool_choice", "function_call"} { // the second is what the first was called before
		if f.has(param) && (json.Unmarshal(f[param], &choice) != nil || choice != "auto" && choice != "none") {
			return invalid("`"+param+"` must be auto or none: tools of clients are not called", param, "unsupported_value")
		}
	}
	for _, param := range [...]string{"tools", "functions"} {
		var tools []json.RawMessage
		if bad := f.into(param, "a list", &tools); bad != nil {
			return bad
		}
		if len(tools) > 0 && choice != "none" {
			return invalid("`"+param+"` are not called here: an agent calls the tools that it has. Leave them out, or send `tool_choice` none", param, "unsupported_parameter")
		}
	}
	return nil
}

// first is the first that is wrong.
func first(all ...*failure) *failure {
	for _, f := range all {
		if f != nil {
			return f
		}
	}
	return nil
}

// chatVoice speaks as chat completions do.
type chatVoice struct {
	id      string
	created int64
	model   string
	usage   bool // a stream ends with what it has cost
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
	Message *chatMessage `json:"message,omitempty"` // of a whole answer
	Delta   *chatMessage `json:"delta,omitempty"`   // of a piece
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

func (v *chatVoice) usageOf(o *outcome) *chatUsage {
	return &chatUsage{o.usage.Input, o.usage.Output, o.usage.Total}
}

func finishOf(o *outcome) *string {
	reason := map[string]string{"length": "length", "filtered": "content_filter"}[o.stop]
	if reason == "" {
		reason = "stop"
	}
	return &reason
}

func (v *chatVoice) whole(o *outcome) any {
	text := o.all()
	return &chatCompletion{v.id, "chat.completion", v.created, v.model,
		[]chatChoice{{Message: &chatMessage{assistant, &text}, Finish: finishOf(o)}}, v.usageOf(o)}
}

func (v *chatVoice) chunk(s *stream, choices []chatChoice, usage *chatUsage) {
	s.event("", &chatCompletion{v.id, "chat.completion.chunk", v.created, v.model, choices, usage})
}

func (v *chatVoice) begin(s *stream) {
	v.chunk(s, []chatChoice{{Delta: &chatMessage{Role: assistant}}}, nil)
}

func (v *chatVoice) say(s *stream, delta string) {
	v.chunk(s, []chatChoice{{Delta: &chatMessage{Content: &delta}}}, nil)
}

// fail tells why there is no answer, or no more of one.
func (v *chatVoice) fail(s *stream, why *failure) { s.event("", failureBody{why}) }

// end says why the answer ends, without which some clients take it for broken off, and what it has cost for those who ask.
func (v *chatVoice) end(s *stream, o *outcome) {
	v.chunk(s, []chatChoice{{Delta: &chatMessage{}, Finish: finishOf(o)}}, nil)
	if v.usage {
		v.chunk(s, []chatChoice{}, v.usageOf(o))
	}
}
