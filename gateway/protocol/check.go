package protocol

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// paramsFile says what the parameters of each method may be: a JSON Schema each, its members in the order of the original, on which the
// order of faults depends. Members that only protocol 4 has stand behind those of 3, and are never required. A method of which the
// original checks nothing has {"type":"object"}.
//
//go:embed params.json
var paramsFile []byte

type shape struct {
	text   json.RawMessage
	schema func() (*jsonschema.Schema, error) // compiled on first use
	empty  func() *Error                      // faults of {}, which most requests send
}

var shapes = sync.OnceValue(func() map[string]*shape {
	all := map[string]*shape{}
	for method, text := range members(paramsFile) {
		s := &shape{text: text, schema: sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(method, text) })}
		s.empty = sync.OnceValue(func() *Error { return s.check(method, json.RawMessage("{}")) })
		all[method] = s
	}
	return all
})

func compile(method string, text []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", method, err)
	}
	c, at := jsonschema.NewCompiler(), "openclawd:///params/"+method
	c.DefaultDraft(jsonschema.Draft7)
	if err := c.AddResource(at, document); err != nil {
		return nil, fmt.Errorf("add the schema of %s: %w", method, err)
	}
	s, err := c.Compile(at)
	if err != nil {
		return nil, fmt.Errorf("compile the schema of %s: %w", method, err)
	}
	return s, nil
}

// Fault is the first fault of a request: its place and the fix. It is in the details of an error.
type Fault struct {
	Field string `json:"field,omitempty"` // a path such as client.id; "" is the whole
	Value any    `json:"value,omitempty"` // the value, if it is a number out of range or not in an enumeration
	Hint  string `json:"hint"`
}

// Check returns what is wrong with the parameters of a request, in the original's words: up to twenty faults at once.
// It is nil if nothing is wrong or the method is unknown. Missing and null parameters are {}. params are those of a
// Request: JSON of bounded depth.
func Check(method string, params json.RawMessage) *Error {
	s := shapes()[method]
	if s == nil {
		return nil
	}
	if params = bytes.TrimSpace(params); len(params) == 0 || bytes.Equal(params, []byte("null")) || bytes.Equal(params, []byte("{}")) {
		return s.empty().copied()
	}
	return s.check(method, params)
}

func (s *shape) check(method string, params json.RawMessage) *Error {
	schema, err := s.schema()
	if err != nil {
		return &Error{Code: CodeUnavailable, Message: err.Error()}
	}
	v, err := decoded(params)
	if err != nil {
		return &Error{Code: CodeInvalidRequest, Message: "invalid " + method + " params: must be JSON"}
	}
	var wrong *jsonschema.ValidationError
	if err := schema.Validate(v); !errors.As(err, &wrong) {
		return nil
	}
	x := explanation{schema: s.text, params: params, seen: map[string]bool{}}
	x.add(wrong)
	e := &Error{Code: CodeInvalidRequest, Message: "invalid " + method + " params: " + joined(x.faults)}
	if x.first != nil {
		e.Details = x.first
	}
	return e
}

// Canonical renames parameters to the names Check knows: POST /tools/invoke and tools.invoke name the tool tool and
// name respectively, and both accept either. Conflicting values stay as they are, for Check to refuse.
func Canonical(method string, params json.RawMessage) json.RawMessage {
	if method != "tools.invoke" || !bytes.Contains(params, []byte("tool")) {
		return params
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil || members["tool"] == nil {
		return params
	}
	if name := members["name"]; name != nil && !bytes.Equal(name, members["tool"]) {
		return params
	}
	members["name"] = members["tool"]
	delete(members, "tool")
	text, err := json.Marshal(members)
	if err != nil {
		return params
	}
	return text
}

// copied returns a copy of the error that the caller may change.
func (e *Error) copied() *Error {
	if e == nil {
		return nil
	}
	own := *e
	return &own
}

// decoded is a value as JavaScript reads it: numbers are float64, infinite if too large.
func decoded(text []byte) (any, error) {
	var v any
	err := json.Unmarshal(text, &v)
	if _, number := errors.AsType[*json.UnmarshalTypeError](err); !number {
		return v, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return rounded(v), nil
}

func rounded(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return math.Inf(1)
		}
		return f
	case map[string]any:
		for name, member := range v {
			v[name] = rounded(member)
		}
	case []any:
		for i, item := range v {
			v[i] = rounded(item)
		}
	}
	return v
}
