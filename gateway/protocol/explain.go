package protocol

import (
	"encoding/json"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explanation words the validator's findings as the original's validator (ajv with allErrors) would: same words, same
// order. That order follows the texts of the schema and the request, which the validator here does not keep.
type explanation struct {
	schema json.RawMessage
	params json.RawMessage

	faults []string
	seen   map[string]bool
	first  *Fault
}

func (x *explanation) add(e *jsonschema.ValidationError) {
	if len(x.faults) > maxFaults {
		return
	}
	at := pointer(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group:
		for _, cause := range x.inOrder(e) {
			x.add(cause)
		}
	case *kind.AnyOf:
		for _, cause := range e.Causes {
			x.add(cause)
		}
		x.addFault(e, at, "must match a schema in anyOf", nil, "give one of the forms that the method accepts")
	case *kind.Type:
		x.addFault(e, at, "must be "+strings.Join(k.Want, ","), nil, "make it "+strings.Join(k.Want, " or "))
		x.others(e, at)
	case *kind.InvalidJsonValue: // number too large
		want := memberOf(x.at(e), "type")
		if want == nil {
			want = []byte(`"number"`)
		}
		x.addFault(e, at, "must be "+textOf(want), nil, "give a smaller number")
	case *kind.Const:
		x.addFault(e, at, "must be equal to constant", k.Got, "give "+shown(k.Want))
	case *kind.Enum:
		x.addFault(e, at, "must be equal to one of the allowed values", k.Got, "give one of "+shown(k.Want))
	case *kind.Required:
		for _, member := range k.Missing {
			x.addFault(e, at, missing(member), nil, "add it", member)
		}
	case *kind.AdditionalProperties:
		for _, member := range x.asWritten(e, k.Properties) {
			x.mark(unexpected(at, member), append(slices.Clone(e.InstanceLocation), member), nil, "leave it out")
		}
	case *kind.Minimum:
		x.addFault(e, at, "must be >= "+number(k.Want), asFloat(k.Got), "give "+number(k.Want)+" or more")
	case *kind.Maximum:
		x.addFault(e, at, "must be <= "+number(k.Want), asFloat(k.Got), "give "+number(k.Want)+" or less")
	case *kind.MinLength:
		x.addFault(e, at, tooShort("characters", k.Want), nil, "give a text")
	case *kind.MaxLength:
		x.addFault(e, at, tooLong("characters", k.Want), nil, "shorten it, it has "+strconv.Itoa(k.Got))
	case *kind.MinItems:
		x.addFault(e, at, tooShort("items", k.Want), nil, "give at least "+strconv.Itoa(k.Want))
	case *kind.MaxItems:
		x.addFault(e, at, tooLong("items", k.Want), nil, "it has "+strconv.Itoa(k.Got))
	case *kind.Pattern:
		x.addFault(e, at, `must match pattern "`+k.Want+`"`, nil, "match the pattern")
	default:
		x.addFault(e, at, "must be valid", nil, "see the method's parameters")
	}
}

// others adds what the original reports beside a wrong type.
func (x *explanation) others(e *jsonschema.ValidationError, at string) {
	schema := x.at(e)
	switch {
	case memberOf(schema, "const") != nil:
		x.addFault(e, at, "must be equal to constant", nil, "")
	case memberOf(schema, "enum") != nil:
		x.addFault(e, at, "must be equal to one of the allowed values", nil, "")
	}
	value, isNumber := asNumber(x.value(e.InstanceLocation))
	if most, bounded := asNumber(memberOf(schema, "maximum")); isNumber && bounded && value > most {
		x.addFault(e, at, "must be <= "+shown(most), value, "")
	}
	if least, bounded := asNumber(memberOf(schema, "minimum")); isNumber && bounded && value < least {
		x.addFault(e, at, "must be >= "+shown(least), value, "")
	}
}

// addFault adds a fault at a place of the request, or below it.
func (x *explanation) addFault(e *jsonschema.ValidationError, at, text string, value any, hint string, below ...string) {
	if at != "" {
		text = "at " + at + ": " + text
	}
	x.mark(text, append(slices.Clone(e.InstanceLocation), below...), value, hint)
}

func (x *explanation) mark(text string, place []string, value any, hint string) {
	if x.seen[text] || len(x.faults) > maxFaults {
		return
	}
	x.seen[text] = true
	x.faults = append(x.faults, text)
	if x.first != nil {
		return
	}
	if word, ok := value.(string); ok {
		value = shortened(word)
	}
	x.first = &Fault{Field: shortened(strings.Join(place, ".")), Value: value, Hint: hint}
}

// inOrder sorts the faults of one value: first the value itself, then its members in the schema's order, then unknown
// members in the request's order.
func (x *explanation) inOrder(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	place, schema := e.InstanceLocation, x.at(e)
	if _, all := e.ErrorKind.(*kind.Schema); all {
		place = common(e.Causes) // if only one value is wrong, the validator reports its faults as the root
		for _, step := range place {
			schema = member(schema, step)
		}
	}
	depth, places := len(place), map[string]int{}
	for _, object := range [][]byte{memberOf(schema, "properties"), x.value(place)} {
		for name := range members(object) {
			if _, named := places[name]; !named {
				places[name] = len(places)
			}
		}
	}
	rank := func(cause *jsonschema.ValidationError) int {
		if len(cause.InstanceLocation) == depth {
			return -rankOf(cause.ErrorKind)
		}
		step := cause.InstanceLocation[depth]
		if place, named := places[step]; named {
			return place
		}
		i, _ := strconv.Atoi(step) // of an array
		return i
	}
	causes := slices.Clone(e.Causes)
	slices.SortStableFunc(causes, func(a, b *jsonschema.ValidationError) int { return rank(a) - rank(b) })
	return causes
}

func common(causes []*jsonschema.ValidationError) []string {
	place := causes[0].InstanceLocation
	for _, cause := range causes[1:] {
		n := 0
		for n < min(len(place), len(cause.InstanceLocation)) && place[n] == cause.InstanceLocation[n] {
			n++
		}
		place = place[:n]
	}
	return place
}

func member(schema []byte, step string) []byte {
	if own := memberOf(memberOf(schema, "properties"), step); own != nil {
		return own
	}
	if item := memberOf(schema, "items"); item != nil {
		return item
	}
	return memberOf(schema, "additionalProperties")
}

// rankOf orders the faults of one value; the larger rank comes first.
func rankOf(k jsonschema.ErrorKind) int {
	switch k.(type) {
	case *kind.Maximum, *kind.MaxLength, *kind.MaxItems:
		return 6
	case *kind.Minimum, *kind.MinLength, *kind.MinItems:
		return 5
	case *kind.Pattern:
		return 4
	case *kind.Required:
		return 3
	case *kind.AdditionalProperties:
		return 2
	default:
		return 1
	}
}

// at returns the part of the schema that e refers to.
func (x *explanation) at(e *jsonschema.ValidationError) []byte {
	_, path, _ := strings.Cut(e.SchemaURL, "#")
	schema := []byte(x.schema)
	if path == "" {
		return schema
	}
	for _, step := range strings.Split(path, "/")[1:] {
		name, err := url.PathUnescape(step)
		if err != nil {
			return nil
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		schema = below(schema, name)
	}
	return schema
}

func (x *explanation) value(place []string) []byte {
	value := []byte(x.params)
	for _, step := range place {
		value = below(value, step)
	}
	return value
}

// asWritten sorts members of an object into the request's order.
func (x *explanation) asWritten(e *jsonschema.ValidationError, names []string) []string {
	unordered := make(map[string]bool, len(names))
	for _, name := range names {
		unordered[name] = true
	}
	ordered := make([]string, 0, len(names))
	for name := range members(x.value(e.InstanceLocation)) {
		if unordered[name] {
			ordered = append(ordered, name)
			delete(unordered, name)
		}
	}
	return ordered
}

// below returns a member of an object or an item of an array.
func below(text []byte, step string) []byte {
	if at := space(text, 0); at < len(text) && text[at] == '[' {
		wanted, err := strconv.Atoi(step)
		for item := range items(text) {
			if wanted == 0 && err == nil {
				return item
			}
			wanted--
		}
		return nil
	}
	return memberOf(text, step)
}

func memberOf(object []byte, name string) (found []byte) {
	for member, value := range members(object) {
		if member == name {
			found = value
		}
	}
	return found
}

func pointer(place []string) string {
	var p strings.Builder
	for _, step := range place {
		p.WriteByte('/')
		p.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(shortened(step)))
	}
	return p.String()
}

func number(r *big.Rat) string {
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(6), "0"), ".")
}

func asNumber(text []byte) (n float64, is bool) {
	n, err := strconv.ParseFloat(string(text), 64)
	return n, err == nil
}

func asFloat(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "another value"
	}
	return shortened(string(text))
}
