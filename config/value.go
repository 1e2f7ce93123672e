package config

import (
	"fmt"
	"strings"
)

// position is a place in a file. Lines and columns start at 1; columns count characters.
type position struct {
	file         string
	line, column int
}

type kind int

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// String names a kind in messages.
func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

type span struct{ from, to int }

// value is a node of a file's tree.
type value struct {
	span    // place in its source text
	kind    kind
	at      position
	text    string // content of a text; number or boolean as written
	items   []*value
	members []*member
	index   map[string]*member
	entries []entry // of a list or object, in source order
	secret  bool    // must not be shown
	unset   bool    // names an unset variable
}

// member is an object's entry. Its place is the key's.
type member struct {
	key   string
	at    position
	value *value
}

// entry is what is between two commas. An entry with a repeated key that is overwritten is no member.
type entry struct {
	span           // from the key, if any, to the end of the value
	comma   int    // position of the comma after it; -1 if there is none
	key     string // of a member
	nameEnd int    // where the key ends
	value   *value
}

func newObject(at position) *value {
	return &value{kind: object, at: at, index: map[string]*member{}}
}

// get returns the value at a key; nil if it is missing, null, or an unset variable.
func (v *value) get(key string) *value {
	if v == nil || v.index[key] == nil {
		return nil
	}
	if found := v.index[key].value; found.kind != null && !found.unset {
		return found
	}
	return nil
}

func (v *value) depth() (deepest int) {
	for _, item := range v.items {
		deepest = max(deepest, item.depth())
	}
	for _, m := range v.members {
		deepest = max(deepest, m.value.depth())
	}
	if v.kind == list || v.kind == object {
		deepest++
	}
	return deepest
}

// set sets a key and reports whether it existed. The key keeps its position.
func (v *value) set(m *member) (replaced bool) {
	if old := v.index[m.key]; old != nil {
		*old = *m
		return true
	}
	v.members = append(v.members, m)
	v.index[m.key] = m
	return false
}

func (v *value) shown() string {
	switch {
	case v == nil:
		return ""
	case v.kind == list || v.kind == object:
		return v.kind.String()
	case v.secret:
		return masked
	case v.kind == null:
		return "null"
	case v.kind == text:
		return fmt.Sprintf("%q", clip(maskText(v.text)))
	}
	return clip(v.text)
}

// path is the path of a setting. nil is the whole configuration.
type path struct {
	parent *path
	key    string // of a member
	index  int    // index of an item, -1 for a member
	free   bool   // the key is user-defined
}

func (p *path) member(key string) *path { return &path{p, key, -1, false} }

func (p *path) named(key string) *path { return &path{p, key, -1, true} }

func (p *path) item(i int) *path { return &path{p, "", i, false} }

// pattern is the path with * for user-defined names and [] for indexes.
func (p *path) pattern() string {
	switch {
	case p == nil:
		return ""
	case p.index >= 0:
		return p.parent.pattern() + "[]"
	case p.free:
		return below(p.parent.pattern(), "*")
	}
	return below(p.parent.pattern(), p.key)
}

// String formats a path as agents.list[3].id. Keys that need quotes are in brackets.
func (p *path) String() string {
	switch {
	case p == nil:
		return ""
	case p.index >= 0:
		return fmt.Sprintf("%s[%d]", p.parent, p.index)
	case !isPlainKey(p.key):
		return fmt.Sprintf("%s[%q]", p.parent, clip(p.key))
	case p.parent == nil:
		return clip(p.key)
	}
	return p.parent.String() + "." + clip(p.key)
}

// isPlainKey reports whether a key needs no quotes in a path.
func isPlainKey(key string) bool {
	for i, r := range key {
		if !isIdentifierPart(r) && r != '-' || i == 0 && r == '-' {
			return false
		}
	}
	return key != ""
}

func clip(s string) string { return clipTo(s, 80) }

func clipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > most {
			return strings.ToValidUTF8(s[:i], "") + "..."
		}
	}
	return s
}
