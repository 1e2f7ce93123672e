package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Source offers tools that come and go, such as those of MCP servers. It is called concurrently.
type Source interface {
	// Sets returns the tools of now. It is called for every offer and call, and so must be quick.
	Sets() []*Set
	// Await returns when the tools that a caller could have are in Sets, as far as they can be soon, or ctx ends. could reports whether the
	// configuration lets the caller have any tool whose name begins with a prefix.
	Await(ctx context.Context, could func(prefix string) bool)
}

// Set is an immutable set of tools of a Source.
type Set struct{ tools []*entry } // in order of name

// NewSet makes a set of tools that may call whatever they are. Tools that cannot be registered are left out and reported; of equal names
// the first one counts.
func NewSet(list []Tool) (*Set, []*RegistrationError) {
	s := &Set{}
	var faults []*RegistrationError
	for _, t := range list {
		at, taken := find(s.tools, t.Name)
		switch {
		case t.Name == "", len(t.Name) > maxName, strings.ContainsFunc(t.Name, func(c rune) bool { return !isForeignRune(c) }):
			faults = append(faults, &RegistrationError{Tool: t.Name, Field: "name", Text: "it is not a valid name", Hint: "use a-z, A-Z, 0-9, _ and -, at most 64"})
			continue
		case taken:
			faults = append(faults, &RegistrationError{Tool: t.Name, Field: "name", Text: "there is already a tool of this name", Hint: "give it another one"})
			continue
		}
		schema, err := compile(&t.Spec)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if (expansion{}).count(schema) > maxExpanded {
			faults = append(faults, &RegistrationError{Tool: t.Name, Field: "schema", Hint: "give it a smaller one",
				Text: fmt.Sprintf("it has more than %d subschemas when its references are expanded", maxExpanded)})
			continue
		}
		if isDynamic(schema, map[*jsonschema.Schema]bool{}) {
			faults = append(faults, &RegistrationError{Tool: t.Name, Field: "schema", Text: "it has a $dynamicRef or $recursiveRef", Hint: "give it a $ref"})
			continue
		}
		s.tools = slices.Insert(s.tools, at, &entry{Tool: t, schema: schema, foreign: true})
	}
	return s, faults
}

// Tools returns the tools, in order of name.
func (s *Set) Tools() []Tool {
	list := make([]Tool, len(s.tools))
	for i, e := range s.tools {
		list[i] = e.Tool
	}
	return list
}

// all returns every tool, in order of name. Of equal names the first one in order of precedence counts.
func (r *Registry) all() []*entry {
	if len(r.opts.Sources) == 0 {
		return r.tools
	}
	all := slices.Clone(r.tools)
	for _, source := range r.opts.Sources {
		for _, s := range source.Sets() {
			for _, e := range s.tools {
				if at, taken := find(all, e.Name); !taken {
					all = slices.Insert(all, at, e)
				}
			}
		}
	}
	return all
}

// entryOf returns a tool, after waiting for those that are not known yet; nil for none.
func (r *Registry) entryOf(ctx context.Context, call *Call, name string) *entry {
	if at, found := r.find(name); found {
		return r.tools[at]
	}
	if e := r.foreign(name); e != nil {
		return e
	}
	r.await(ctx, call, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	return r.foreign(name)
}

func (r *Registry) foreign(name string) *entry {
	for _, source := range r.opts.Sources {
		for _, s := range source.Sets() {
			if at, found := find(s.tools, name); found {
				return s.tools[at]
			}
		}
	}
	return nil
}

// Await implements tool.Waiter.
func (r *Registry) Await(ctx context.Context, c tool.Caller) {
	if call, known := callOf(r.opts.Config(), c); known {
		r.await(ctx, &call, func(string) bool { return true })
	}
}

func (r *Registry) await(ctx context.Context, call *Call, wanted func(prefix string) bool) {
	for _, source := range r.opts.Sources {
		source.Await(ctx, func(prefix string) bool { return wanted(prefix) && call.couldHave(prefix) })
	}
}
