package tools

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxVisits bounds how often subschemas of a tool of a Source are applied to arguments. A schema that refers to itself in two places can
// double that at each level of them.
const maxVisits = 250_000

// node is a value, told apart from an equal one elsewhere.
type node struct {
	members map[string]*node // of an object
	items   []*node          // of a list
}

func nodeOf(value any) *node {
	n := &node{}
	switch v := value.(type) {
	case map[string]any:
		n.members = make(map[string]*node, len(v))
		for name, member := range v {
			n.members[name] = nodeOf(member)
		}
	case []any:
		n.items = make([]*node, len(v))
		for i, item := range v {
			n.items[i] = nodeOf(item)
		}
	}
	return n
}

// visit is a schema applied to a value.
type visit struct {
	schema *jsonschema.Schema
	value  *node
}

// visits counts visits. What is counted once is remembered, so that counting is quick where validating is not.
type visits struct{ known map[visit]int }

// tooCostly reports whether validating a value takes more than maxVisits, or counting them would.
func tooCostly(s *jsonschema.Schema, value any) bool {
	v := &visits{known: map[visit]int{}}
	return v.count(s, nodeOf(value)) > maxVisits
}

// count returns at most a little more than maxVisits.
func (v *visits) count(s *jsonschema.Schema, n *node) int {
	at := visit{s, n}
	if known, is := v.known[at]; is {
		return known
	}
	if len(v.known) >= maxVisits {
		return maxVisits + 1
	}
	v.known[at] = 1 // for a schema that refers to itself for the same value, which the library refuses
	sum := 1
	add := func(s *jsonschema.Schema, n *node) {
		if s != nil && sum <= maxVisits {
			sum += v.count(s, n)
		}
	}
	for _, same := range appliedToAll(s) {
		add(same, n)
	}
	for name, member := range n.members {
		add(s.PropertyNames, &node{})
		add(s.Properties[name], member)
		add(s.UnevaluatedProperties, member)
		add(asSchema(s.AdditionalProperties), member)
		for pattern, one := range s.PatternProperties {
			if pattern.MatchString(name) {
				add(one, member)
			}
		}
	}
	listed, _ := s.Items.([]*jsonschema.Schema)
	for i, item := range n.items {
		for _, one := range []*jsonschema.Schema{s.Contains, s.Items2020, s.UnevaluatedItems, asSchema(s.Items), asSchema(s.AdditionalItems)} {
			add(one, item)
		}
		if i < len(listed) {
			add(listed[i], item)
		}
		if i < len(s.PrefixItems) {
			add(s.PrefixItems[i], item)
		}
	}
	v.known[at] = min(sum, maxVisits+1)
	return v.known[at]
}

// appliedToAll lists the subschemas of a schema that are applied to the whole value.
func appliedToAll(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.ContentSchema}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	all = append(append(append(all, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, one := range s.DependentSchemas {
		all = append(all, one)
	}
	for _, one := range s.Dependencies {
		all = append(all, asSchema(one))
	}
	return all
}

func asSchema(value any) *jsonschema.Schema {
	s, _ := value.(*jsonschema.Schema)
	return s
}

// isDynamic reports whether a schema, or one below it, refers to others by where it is used from: its cost cannot be counted before.
func isDynamic(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	if seen[s] {
		return false
	}
	seen[s] = true
	if s.RecursiveRef != nil || s.DynamicRef != nil && s.DynamicRef.Anchor != "" {
		return true
	}
	for _, one := range below(s) {
		if isDynamic(one, seen) {
			return true
		}
	}
	return false
}
