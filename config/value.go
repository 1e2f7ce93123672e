package config

import (
	"fmt"
	"strings"
)

// position is a place in a file. Lines and columns begin at 1; a column counts characters, not bytes.
type position struct {
	file         string
	line, column int
}

// kind is what a value is.
type kind int

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// String names a kind as messages do.
func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// value is a node of a file's tree.
type value struct {
	span    // in the text that it was read from
	kind    kind
	at      position
	text    string // of a text; of a number or boolean: as written
	items   []*value
	members []*member
	index   map[string]*member
	entries []entry // of a list or object, as they were read
	secret  bool    // must not be shown
	unset   bool    // names a variable that is not set
}

// member is an entry of an object. Its place is that of the key.
type member struct {
	key   string
	at    position
	value *value
}

// entry is what stands between two commas. One whose key stands again after it is no member.
type entry struct {
	span           // from the key, if there is one, to the end of the value
	comma   int    // where the comma after it is; -1 if there is none
	key     string // of a member
	nameEnd int    // where the key ends
	value   *value
}

func newObject(at position) *value {
	return &value{kind: object, at: at, index: map[string]*member{}}
}

// get returns what stands at a key. A key that is absent, one that holds null and one that waits for a variable are the same: nil.
func (v *value) get(key string) *value {
	if v == nil || v.index[key] == nil {
		return nil
	}
	if found := v.index[key].value; found.kind != null && !found.unset {
		return found
	}
	return nil
}

// depth is how many brackets stand around the innermost value.
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

// set gives a key its value and reports whether it had one before. The key keeps its first place in the order.
func (v *value) set(m *member) (replaced bool) {
	if old := v.index[m.key]; old != nil {
		*old = *m
		return true
	}
	v.members = append(v.members, m)
	v.index[m.key] = m
	return false
}

// shown is a value as a finding may show it.
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

// path leads to a setting. A nil path is the whole configuration.
type path struct {
	parent *path
	key    string // of a member
	index  int    // of an item, -1 for a member
	free   bool   // the key is a name that people choose
}

func (p *path) member(key string) *path { return &path{p, key, -1, false} }

func (p *path) named(key string) *path { return &path{p, key, -1, true} }

func (p *path) item(i int) *path { return &path{p, "", i, false} }

// pattern is the path with * for names that people choose, and [] for places in lists.
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

// String writes a path as agents.list[3].id. Keys that need quotes stand in brackets.
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

// isPlainKey reports whether a key can stand in a path without quotes.
func isPlainKey(key string) bool {
	for i, r := range key {
		if !isIdentifierPart(r) && r != '-' || i == 0 && r == '-' {
			return false
		}
	}
	return key != ""
}

// clip shortens a text of the file to what a message has room for.
func clip(s string) string { return clipTo(s, 80) }

// clipTo shortens a text to so many characters.
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
