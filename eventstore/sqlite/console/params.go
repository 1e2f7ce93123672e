package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of parameters.
const (
	MaxParams     = 100      // of a statement
	MaxParamBytes = 64 << 10 // of all texts
)

// Params are the values of a statement's parameters: nil, int64, float64 or string. At most one of the fields is set.
type Params struct {
	List  []any          // by position
	Named map[string]any // by name, without the prefix : @ or $
}

// check refuses too many or too large values, and those of other types.
func (p Params) check() error {
	if n := len(p.List) + len(p.Named); n > MaxParams {
		return &LimitError{What: fmt.Sprintf("%d values of parameters", n), HintText: fmt.Sprintf("a statement may have at most %d parameters", MaxParams)}
	}
	bytes := 0
	for _, value := range slices.Concat(p.List, slices.Collect(maps.Values(p.Named))) {
		switch v := value.(type) {
		case nil, int64, float64:
		case string:
			if !utf8.ValidString(v) {
				return &ParameterError{What: "a value is not UTF-8", HintText: "send texts in UTF-8"}
			}
			bytes += len(v)
		default:
			return &ParameterError{What: fmt.Sprintf("a value has the type %T", v), HintText: "a value is a number, a text, or null"}
		}
	}
	if bytes > MaxParamBytes {
		return &LimitError{What: fmt.Sprintf("the values of parameters have %d bytes", bytes), HintText: fmt.Sprintf("they may have at most %d", MaxParamBytes)}
	}
	return nil
}

// bind sets all parameters of a statement. Each needs a value, and each value a parameter.
func (s *session) bind(p *prepared, params Params) error {
	n := p.parameters()
	if params.Named == nil && n != len(params.List) {
		return &ParameterError{What: fmt.Sprintf("parameters of the statement: %d, values given: %d", n, len(params.List)), HintText: "give one value for each ?, in their order"}
	}
	unused := maps.Clone(params.Named)
	for i := range n {
		var value any
		if params.Named == nil {
			value = params.List[i]
		} else {
			name := p.parameter(i + 1)
			if name == "" || strings.HasPrefix(name, "?") {
				return &ParameterError{What: fmt.Sprintf("parameter %d has no name", i+1), HintText: "use :name for each, or give the values as a list"}
			}
			given := false
			if value, given = params.Named[name[1:]]; !given {
				return &ParameterError{What: "no value for " + clip(name), HintText: "give a value for each name, without its prefix"}
			}
			delete(unused, name[1:])
		}
		if err := p.bind(i+1, value); err != nil {
			return s.translate(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		return &ParameterError{What: "the statement has no parameter " + clip(name), HintText: "leave this value out, or use :" + clip(name)}
	}
	return nil
}

// ParameterError reports values that do not match the parameters of the statement.
type ParameterError struct{ What, HintText string }

func (e *ParameterError) Error() string { return e.What }
func (e *ParameterError) Code() string  { return "sql_error" }
func (e *ParameterError) Hint() string  { return e.HintText }

// Field is the part of the question that is wrong.
func (e *ParameterError) Field() string { return "params" }
