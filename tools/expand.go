package tools

import (
	"cmp"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxExpanded bounds the schema of a tool of a Source, in subschemas with references expanded: a validation may visit each of them.
const maxExpanded = 10_000

// expansion counts the subschemas of schemas with references expanded.
type expansion map[*jsonschema.Schema]int

// count returns at most a little more than maxExpanded. A reference to a schema that contains it counts as one.
func (x expansion) count(s *jsonschema.Schema) int {
	if n, known := x[s]; known {
		return n
	}
	x[s] = 1 // for references to it from below
	n := 1
	for _, one := range below(s) {
		if n += x.count(one); n > maxExpanded {
			n = maxExpanded + 1
			break
		}
	}
	x[s] = n
	return n
}

// below lists the subschemas of a schema, and those it refers to.
func below(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020,
		s.UnevaluatedItems, s.ContentSchema}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	all = slices.Concat(all, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	all = slices.AppendSeq(all, maps.Values(s.Properties))
	all = slices.AppendSeq(all, maps.Values(s.PatternProperties))
	all = slices.AppendSeq(all, maps.Values(s.DependentSchemas))
	others := []any{s.AdditionalProperties, s.Items, s.AdditionalItems}
	for _, other := range slices.AppendSeq(others, maps.Values(s.Dependencies)) {
		switch other := other.(type) {
		case *jsonschema.Schema:
			all = append(all, other)
		case []*jsonschema.Schema:
			all = append(all, other...)
		}
	}
	all = slices.DeleteFunc(all, func(one *jsonschema.Schema) bool { return one == nil })
	slices.SortFunc(all, func(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) }) // so that each count is the same
	return all
}
