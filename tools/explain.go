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

// Bounds of what is told about wrong arguments.
const (
	maxFaults = 10
	maxShown  = 80 // bytes of a value or a name
)

// fault is one thing that is wrong with arguments.
type fault struct {
	field string // a JSON pointer
	text  string // that names the field and the value
	mend  string
}

// explain words what is wrong, so that a model can mend it at once: all faults, up to maxFaults of them, in the order of the fields.
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
		texts = append(texts, f.text+" ("+f.mend+")")
	}
	return &tool.Error{Code: tool.CodeInvalid, Tool: e.Name, Field: first.field, Mend: first.mend,
		Text: "invalid arguments of " + e.Name + ": " + strings.Join(texts, "; ")}
}

// explanation gathers faults.
type explanation struct {
	args   any
	schema *jsonschema.Schema
	faults []fault
}

func (x *explanation) add(e *jsonschema.ValidationError) {
	place := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		x.say(place, "must be "+typesOf(k.Want), "make it "+typesOf(k.Want))
	case *kind.Enum:
		x.say(place, "must be one of "+listed(k.Want), "give one of these")
	case *kind.Const:
		x.say(place, "must be "+shown(k.Want), "give that")
	case *kind.Required:
		for _, name := range k.Missing {
			x.missing(place, name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			x.unknown(place, name)
		}
	case *kind.Minimum:
		x.say(place, "must be at least "+number(k.Want), "give "+number(k.Want)+" or more")
	case *kind.Maximum:
		x.say(place, "must be at most "+number(k.Want), "give "+number(k.Want)+" or less")
	case *kind.MinLength:
		x.say(place, fmt.Sprintf("must have at least %d characters, has %d", k.Want, k.Got), "give a longer text")
	case *kind.MaxLength:
		x.say(place, fmt.Sprintf("must have at most %d characters, has %d", k.Want, k.Got), "shorten it")
	case *kind.MinItems:
		x.say(place, fmt.Sprintf("must have at least %d items, has %d", k.Want, k.Got), "add some")
	case *kind.MaxItems:
		x.say(place, fmt.Sprintf("must have at most %d items, has %d", k.Want, k.Got), "leave some out")
	case *kind.Pattern:
		x.say(place, "must match "+k.Want, "write it as this expression says")
	default:
		before := len(x.faults)
		for _, cause := range e.Causes {
			x.add(cause)
		}
		if len(x.faults) == before {
			x.say(place, "is not as the schema has it", "see the schema")
		}
	}
}

// say adds a fault of a value that is there.
func (x *explanation) say(place []string, text, mend string) {
	field := pointer(place)
	x.faults = append(x.faults, fault{field, nameOf(field) + " is " + shown(valueAt(x.args, place)) + ", " + text, mend})
}

func (x *explanation) missing(place []string, name string) {
	field := pointer(append(slices.Clone(place), name))
	x.faults = append(x.faults, fault{field, nameOf(field) + " is missing", "add it"})
}

func (x *explanation) unknown(place []string, name string) {
	field, mend := pointer(append(slices.Clone(place), name)), "leave it out"
	if len(place) == 0 {
		var known []string
		for own := range x.schema.Properties {
			known = append(known, own)
			if strings.EqualFold(own, name) {
				mend = "write " + own
			}
		}
		if slices.Sort(known); mend == "leave it out" && len(known) > 0 {
			mend += ", there are " + strings.Join(known, ", ")
		}
	}
	x.faults = append(x.faults, fault{field, nameOf(field) + " is no argument", mend})
}

// nameOf is a field as people call it.
func nameOf(field string) string {
	if field == "" {
		return "the whole"
	}
	return field
}

func pointer(place []string) string {
	var p strings.Builder
	for _, step := range place {
		step = coordination.Mask(shortened(step, maxShown))
		p.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return p.String()
}

// valueAt is what stands at a place, nil if nothing does.
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

// shown is a value as it is told: an object or a list by its kind, anything else by its beginning, and no secret.
func shown(value any) string {
	switch value.(type) {
	case map[string]any, []any:
		return kindOf(value)
	}
	text, err := Encode(value)
	if err != nil {
		return kindOf(value)
	}
	return shortened(coordination.Mask(string(text)), maxShown)
}

// maxListed is how many of the values that could stand somewhere are told.
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

// typesOf names JSON Schema's types to people.
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
