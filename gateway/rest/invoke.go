package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// maxHeader is how many bytes of a header are used.
const maxHeader = 256

// invocation is a tool result, in the original's shape.
type invocation struct {
	OK     bool       `json:"ok"`
	Result *Result    `json:"result,omitempty"`
	Error  *toolError `json:"error,omitempty"`
}

// Result is a tool's output, in the original's shape.
type Result struct {
	Content []Block         `json:"content"`
	Details json.RawMessage `json:"details,omitempty"`
	IsError bool            `json:"isError,omitempty"`
}

// Block is a text block.
type Block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// ResultOf converts a tool's output.
func ResultOf(o tool.Output) *Result {
	return &Result{Content: []Block{{"text", o.Text}}, Details: o.Details, IsError: o.IsError}
}

type toolError struct {
	Type    string `json:"type"` // not_found, tool_error
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

// BrokenTool is the answer for a tool that failed internally; the cause is only logged.
const BrokenTool = "tool execution failed"

// NoTool is the answer for a tool that does not exist or is hidden from the caller.
func NoTool(name string) string { return "Tool not available: " + coordination.Clip(name, maxHeader) }

func (s *Server) invoke(w http.ResponseWriter, r *http.Request) {
	f, bad := read(w, r, maxInvoke)
	if bad != nil {
		s.failPlainly(w, bad)
		return
	}
	name, args, caller, bad := s.invoked(r, f)
	if bad != nil {
		s.failPlainly(w, bad)
		return
	}
	if s.opts.Tools == nil {
		s.writeJSON(w, http.StatusNotFound, invocation{Error: &toolError{Type: "not_found", Message: NoTool(name)}})
		return
	}
	if args, bad = s.withAction(f, caller, name, args); bad != nil {
		s.failPlainly(w, bad)
		return
	}
	output, err := s.opts.Tools.Call(r.Context(), caller, name, args)
	if err == nil {
		s.writeJSON(w, http.StatusOK, invocation{OK: true, Result: ResultOf(output)})
		return
	}
	status, why := http.StatusInternalServerError, &toolError{Type: "tool_error", Message: BrokenTool}
	switch e, _ := errors.AsType[*tool.Error](err); {
	case e != nil && e.Code == tool.CodeUnknown:
		status, why = http.StatusNotFound, &toolError{Type: "not_found", Message: NoTool(name)}
	case e != nil && e.Code == tool.CodeInvalid:
		status, why = http.StatusBadRequest, &toolError{Type: "tool_error", Message: e.Text, Field: e.Field}
	case e != nil && (e.Code == tool.CodeTaskRequired || e.Code == tool.CodePlanRequired):
		status, why = http.StatusForbidden, &toolError{Type: e.Code, Message: e.Text + ": " + e.Hint}
	case e != nil && e.Code != tool.CodeBroken:
		status, why = http.StatusBadRequest, &toolError{Type: "tool_error", Message: e.Text + ": " + e.Hint, Field: e.Field}
	case e == nil && !errors.Is(err, context.Canceled):
		s.opts.Logger.Warn("tool failed", "tool", name, "err", err)
	}
	s.writeJSON(w, status, invocation{Error: why})
}

// failPlainly sends the original's error shape: its clients know neither param nor code.
func (s *Server) failPlainly(w http.ResponseWriter, f *failure) {
	s.writeJSON(w, f.status, map[string]any{"error": map[string]string{"message": f.Message, "type": f.Type}})
}

func (s *Server) invoked(r *http.Request, f fields) (name string, args json.RawMessage, c tool.Caller, bad *failure) {
	if name, bad = toolOf(f); bad != nil {
		return "", nil, c, bad
	}
	args = json.RawMessage("{}")
	if f.has("args") {
		if bad = f.into("args", "an object", &map[string]json.RawMessage{}); bad != nil {
			return "", nil, c, bad
		}
		args = f["args"]
	}
	session := coordination.DefaultMainKey
	if bad = f.into("sessionKey", "a text", &session); bad != nil {
		return "", nil, c, bad
	}
	if coordination.TrimJS(session) == "" {
		session = coordination.DefaultMainKey
	}
	key, err := s.opts.Session("", session)
	if err != nil {
		return "", nil, c, invalid(err.Error(), "sessionKey", "")
	}
	once, bad := idempotencyKey(r)
	if bad != nil {
		return "", nil, c, bad
	}
	c = tool.Caller{Entry: tool.ByHTTP, AgentID: s.opts.AgentOf(key), SessionKey: key.String(), By: byHTTP, CallID: once,
		Channel: header(r, "X-Openclaw-Message-Channel"), To: header(r, "X-Openclaw-Message-To"),
		AccountID: header(r, "X-Openclaw-Account-Id"), ThreadID: header(r, "X-Openclaw-Thread-Id")}
	return name, args, c, nil
}

// toolOf returns the tool a body names, as tool, or as name like the gateway's method.
func toolOf(f fields) (name string, bad *failure) {
	var tool string
	if f.into("tool", "a text", &tool) != nil || f.into("name", "a text", &name) != nil {
		return "", invalid("tools.invoke requires body.tool", "tool", "")
	}
	tool, name = coordination.TrimJS(tool), coordination.TrimJS(name)
	switch {
	case tool == "" && name == "":
		return "", invalid("tools.invoke requires body.tool", "tool", "")
	case tool != "" && name != "" && tool != name:
		return "", invalid("body.tool and body.name are two tools: give one of them; they mean the same", "name", "")
	case tool == "":
		return name, nil
	}
	return tool, nil
}

// withAction copies the body's action into the arguments of a tool that takes one, unless they have it.
func (s *Server) withAction(f fields, c tool.Caller, name string, args json.RawMessage) (json.RawMessage, *failure) {
	var action string
	if bad := f.into("action", "a text", &action); bad != nil {
		return nil, bad
	}
	if action == "" || !s.takesAction(c, name) {
		return args, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args, &members); err != nil || members["action"] != nil {
		return args, nil
	}
	members["action"] = f["action"]
	whole, err := json.Marshal(members)
	if err != nil {
		return nil, internalError()
	}
	return whole, nil
}

func (s *Server) takesAction(c tool.Caller, name string) bool {
	for _, spec := range s.opts.Tools.Offer(c) {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if spec.Name == name && json.Unmarshal(spec.Schema, &schema) == nil {
			return schema.Properties["action"] != nil
		}
	}
	return false
}

// byHTTP is the caller if only the gateway's secret was presented.
const byHTTP = "http"

func header(r *http.Request, name string) string {
	return coordination.Clip(coordination.TrimJS(r.Header.Get(name)), maxHeader)
}
