package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

const (
	MaxArgs      = 256 << 10 // bytes
	MaxArgsDepth = 64        // nesting depth of objects and lists
)

// compile compiles a tool's schema. References are not fetched.
func compile(s *tool.Spec) (*jsonschema.Schema, *RegistrationError) {
	broken := func(why error) *RegistrationError {
		return &RegistrationError{Tool: s.Name, Field: "schema", Text: why.Error(), Hint: `give a JSON Schema with "type": "object"`}
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.Schema))
	if err != nil {
		return nil, broken(err)
	}
	if object, is := document.(map[string]any); !is || object["type"] != "object" {
		return nil, broken(errors.New("it does not describe an object"))
	}
	c, at := jsonschema.NewCompiler(), "openclawd:///tools/"+s.Name
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(at, document); err != nil {
		return nil, broken(err)
	}
	schema, err := c.Compile(at)
	if err != nil {
		return nil, broken(err)
	}
	return schema, nil
}

// judge validates arguments and returns them normalized. Missing or null arguments are {}. Errors are *tool.Error.
func (e *entry) judge(args json.RawMessage) (json.RawMessage, error) {
	invalid := func(text, hint string) error {
		return &tool.Error{Code: tool.CodeInvalid, Tool: e.Name, Text: "invalid arguments of " + e.Name + ": " + text, Hint: hint}
	}
	args = bytes.TrimSpace(args)
	switch {
	case len(args) == 0, bytes.Equal(args, []byte("null")):
		args = []byte("{}")
	case len(args) > MaxArgs:
		return nil, invalid(fmt.Sprintf("they have %d bytes, must have at most %d", len(args), MaxArgs), "shorten them")
	case depthOf(args) > MaxArgsDepth:
		return nil, invalid(fmt.Sprintf("they are nested more than %d deep", MaxArgsDepth), "make them flatter")
	}
	value, err := decoded(args)
	if err != nil {
		return nil, invalid("they are not valid JSON: "+err.Error(), "write one JSON object")
	}
	value, err = normal(value)
	if err != nil {
		return nil, invalid(err.Error(), "give a smaller number")
	}
	if _, is := value.(map[string]any); !is {
		return nil, invalid("they are "+kindOf(value)+", must be an object", "write them as one JSON object, by name")
	}
	e.rename(value)
	if e.foreign && tooCostly(e.schema, value) {
		return nil, invalid(fmt.Sprintf("its schema would be applied to them in more than %d places", maxVisits), "make them smaller and flatter")
	}
	var wrong *jsonschema.ValidationError
	if err := e.schema.Validate(value); errors.As(err, &wrong) {
		return nil, explain(e, value, wrong)
	} else if err != nil {
		return nil, invalid("they cannot be validated", "give arguments that match the schema")
	}
	return Encode(value)
}

// rename gives arguments their own names, also in lists of objects.
func (t *Tool) rename(value any) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if object, is := one.(map[string]any); is {
				t.rename(object)
			}
		}
	case map[string]any:
		for alias, name := range t.Aliases {
			given, is := v[alias]
			if _, taken := v[name]; is && !taken {
				v[name] = given
				delete(v, alias)
			}
		}
		for _, member := range v {
			if list, is := member.([]any); is && len(t.Aliases) > 0 {
				t.rename(list)
			}
		}
	}
}

// decoded decodes one JSON value. Of duplicate members the last one counts.
func decoded(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

// exact bounds the integers that every JSON reader represents exactly.
const exact = 1 << 53

// maxDigits bounds the length of an integer that is kept as written.
const maxDigits = 40

// normal rewrites whole numbers such as 1.0 or 1e3 as integers, which both schemas and Go accept. Integers stay as written, so an id
// keeps its digits.
func normal(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		if digits := v.String(); digits != "-0" && len(digits) <= maxDigits && !strings.ContainsAny(digits, ".eE") {
			return v, nil
		}
		f, err := v.Float64()
		if err != nil || math.IsInf(f, 0) {
			return nil, fmt.Errorf("the number %s is too large", coordination.Clipped(v.String(), maxShown))
		}
		if whole := math.Trunc(f); whole == f && math.Abs(f) <= exact {
			return json.Number(strconv.FormatInt(int64(whole), 10)), nil
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
	case map[string]any:
		for name := range v {
			if v[name], err = normal(v[name]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = normal(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// depthOf returns the nesting depth of a text that need not be JSON.
func depthOf(text []byte) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			most = max(most, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return most
}

// kindOf names the kind of a JSON value for people.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "a number"
	}
}
