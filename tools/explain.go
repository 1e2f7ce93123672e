package tools

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

const (
	maxFaults = 10
	maxShown  = 80 // bytes of a quoted value or name
)

type fault struct {
	field string // a JSON pointer
	text  string // names the field and the value
	hint  string
}

// explain describes the faults so that a model can correct them all at once: up to maxFaults, in field order.
func explain(e *entry, args any, wrong *jsonschema.ValidationError) *tool.Error {
	x := &explanation{args: args, schema: e.schema}
	x.add(wrong)
	slices.SortFunc(x.faults, func(a, b fault) int { return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.text, b.text)) })
	x.faults = slices.Compact(x.faults)
	first, texts := x.faults[0], make([]string, 0, maxFaults+1)
	for i, f := range x.faults {
		if i == maxFaults {
			texts = append(texts, fmt.Sprintf("and %d more", len(x.faults)-i))
			break
		}
		texts = append(texts, f.text+" ("+f.hint+")")
	}
	return &tool.Error{Code: tool.CodeInvalid, Tool: e.Name, Field: first.field, Hint: first.hint,
		Text: "invalid arguments of " + e.Name + ": " + strings.Join(texts, "; ")}
}

type explanation struct {
	args   any
	schema *jsonschema.Schema
	faults []fault
}

func (x *explanation) add(e *jsonschema.ValidationError) {
	place := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		x.addFault(place, "must be "+typesOf(k.Want), "make it "+typesOf(k.Want))
	case *kind.Enum:
		x.addFault(place, "must be one of "+listed(k.Want), "give one of these")
	case *kind.Const:
		x.addFault(place, "must be "+shown(k.Want), "give that")
	case *kind.Required:
		for _, name := range k.Missing {
			x.missing(place, name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			x.unknown(place, name)
		}
	case *kind.Minimum:
		x.addFault(place, "must be at least "+number(k.Want), "give "+number(k.Want)+" or more")
	case *kind.Maximum:
		x.addFault(place, "must be at most "+number(k.Want), "give "+number(k.Want)+" or less")
	case *kind.MinLength:
		x.addFault(place, fmt.Sprintf("must have at least %d characters, has %d", k.Want, k.Got), "give a longer text")
	case *kind.MaxLength:
		x.addFault(place, fmt.Sprintf("must have at most %d characters, has %d", k.Want, k.Got), "shorten it")
	case *kind.MinItems:
		x.addFault(place, fmt.Sprintf("must have at least %d items, has %d", k.Want, k.Got), "add some")
	case *kind.MaxItems:
		x.addFault(place, fmt.Sprintf("must have at most %d items, has %d", k.Want, k.Got), "leave some out")
	case *kind.Pattern:
		x.addFault(place, "must match "+k.Want, "match this pattern")
	default:
		before := len(x.faults)
		for _, cause := range e.Causes {
			x.add(cause)
		}
		if len(x.faults) == before {
			x.addFault(place, "does not match the schema", "see the schema")
		}
	}
}

func (x *explanation) addFault(place []string, text, hint string) {
	field := pointer(place)
	x.faults = append(x.faults, fault{field, nameOf(field) + " is " + shown(valueAt(x.args, place)) + ", " + text, hint})
}

func (x *explanation) missing(place []string, name string) {
	field := pointer(append(slices.Clone(place), name))
	x.faults = append(x.faults, fault{field, nameOf(field) + " is missing", "add it"})
}

func (x *explanation) unknown(place []string, name string) {
	field, hint := pointer(append(slices.Clone(place), name)), "leave it out"
	if len(place) == 0 {
		var known []string
		for own := range x.schema.Properties {
			known = append(known, own)
			if strings.EqualFold(own, name) {
				hint = "write " + own
			}
		}
		if slices.Sort(known); hint == "leave it out" && len(known) > 0 {
			hint += ", there are " + strings.Join(known, ", ")
		}
	}
	x.faults = append(x.faults, fault{field, nameOf(field) + " is not an argument", hint})
}

// nameOf renders a JSON pointer for people.
func nameOf(field string) string {
	if field == "" {
		return "the whole"
	}
	return field
}

func pointer(place []string) string {
	var p strings.Builder
	for _, step := range place {
		step = coordination.Mask(coordination.Clipped(step, maxShown))
		p.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return p.String()
}

// valueAt returns the value at a JSON pointer, nil for none.
func valueAt(value any, place []string) any {
	for _, step := range place {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			at, err := strconv.Atoi(step)
			if err != nil || at < 0 || at >= len(v) {
				return nil
			}
			value = v[at]
		default:
			return nil
		}
	}
	return value
}

// shown quotes a value: objects and lists by their kind, others shortened and masked.
func shown(value any) string {
	switch value.(type) {
	case map[string]any, []any:
		return kindOf(value)
	}
	text, err := Encode(value)
	if err != nil {
		return kindOf(value)
	}
	return coordination.Clipped(coordination.Mask(string(text)), maxShown)
}

const maxListed = 30

func listed(values []any) string {
	texts := make([]string, 0, maxListed)
	for i, v := range values {
		if i == maxListed {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, shown(v))
	}
	return strings.Join(texts, ", ")
}

// typesOf names JSON Schema types for people.
func typesOf(types []string) string {
	names := map[string]string{"integer": "a whole number", "number": "a number", "string": "a text", "boolean": "true or false",
		"object": "an object", "array": "a list", "null": "null"}
	texts := make([]string, 0, len(types))
	for _, t := range types {
		texts = append(texts, cmp.Or(names[t], t))
	}
	return strings.Join(texts, " or ")
}

func number(r *big.Rat) string {
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(6), "0"), ".")
}
