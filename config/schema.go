package config

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// schemaNode is a setting as declared by the decoder. Its methods do nothing on nil, which is used for reading a
// configuration.
type schemaNode struct {
	types    []string
	usual    any // the default; nil if there is none
	choices  []string
	least    int
	most     int // 0: unbounded
	secret   bool
	isRead   bool // openclawd reads it
	keys     []string
	members  map[string]*schemaNode
	needed   []string    // required keys
	item     *schemaNode // of a list's entries
	anyOther *schemaNode // of an object's values at arbitrary keys
}

func (n *schemaNode) member(key string) *schemaNode {
	if n == nil {
		return nil
	}
	if n.members == nil {
		n.members = map[string]*schemaNode{}
	}
	if n.members[key] == nil {
		n.members[key] = &schemaNode{}
		n.keys = append(n.keys, key)
	}
	return n.members[key]
}

func (n *schemaNode) read() {
	if n != nil {
		n.isRead = true
	}
}

func (n *schemaNode) is(types ...string) *schemaNode {
	if n != nil {
		n.types, n.isRead = types, true
	}
	return n
}

func (n *schemaNode) of(types ...string) {
	if n != nil {
		n.is("array").item = (&schemaNode{}).is(types...)
	}
}

func (n *schemaNode) each(types ...string) {
	if n != nil {
		n.is("object").anyOther = (&schemaNode{}).is(types...)
	}
}

func (n *schemaNode) object() *schemaNode { return n.is("object") }

func (n *schemaNode) entries() *schemaNode {
	if n == nil {
		return nil
	}
	if n.item == nil {
		n.is("array").item = (&schemaNode{}).is("object")
	}
	return n.item
}

// named is the object of which another one holds many, at keys that are names.
func (n *schemaNode) named() *schemaNode {
	if n == nil {
		return nil
	}
	if n.anyOther == nil {
		n.is("object").anyOther = (&schemaNode{}).is("object")
	}
	return n.anyOther
}

func (n *schemaNode) otherwise(usual any) *schemaNode {
	if n != nil && usual != "" {
		n.usual = usual
	}
	return n
}

func (n *schemaNode) bounds(least, most int) {
	if n != nil {
		n.least, n.most = least, most
	}
}

func (n *schemaNode) oneOf(choices []string) {
	if n != nil {
		n.choices = slices.DeleteFunc(slices.Clone(choices), func(c string) bool { return c == "" })
	}
}

func (n *schemaNode) needs(keys []string) {
	if n != nil {
		n.needed = keys
	}
}

func (n *schemaNode) hidden() {
	if n != nil {
		n.is("string", "object").secret = true
	}
}

// Hint says how a setting is presented to people.
type Hint struct {
	Label     string `json:"label"`
	Help      string `json:"help,omitempty"`
	Order     int    `json:"order"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// Schema is the JSON Schema of the settings read by the decoder, with hints by path, where [] is any list entry and *
// any name. Additional keys are allowed: other programs read the same file.
func Schema() (schema json.RawMessage, hints map[string]Hint) {
	d := &describer{root: settingsSchema(), help: help(), hints: map[string]Hint{}}
	d.hint(d.root, "")
	whole := d.json(d.root, "")
	whole["$schema"], whole["title"] = "http://json-schema.org/draft-07/schema#", "openclaw.json as openclawd reads it"
	schema, err := json.Marshal(whole)
	if err != nil {
		panic(err) // it contains strings, numbers and booleans
	}
	return schema, d.hints
}

type describer struct {
	root  *schemaNode
	help  map[string]string
	hints map[string]Hint
}

func settingsSchema() *schemaNode {
	root := (&schemaNode{}).object()
	(&Config{}).decodeRoot((&fields{report: newReport()}).listing(root))
	return root
}

func (d *describer) json(n *schemaNode, path string) map[string]any {
	s := map[string]any{}
	if n.secret {
		s["writeOnly"] = true
	}
	switch len(n.types) {
	case 0:
	case 1:
		s["type"] = n.types[0]
	default:
		s["type"] = n.types
	}
	if n.usual != nil {
		s["default"] = n.usual
	}
	if len(n.choices) > 0 {
		s["enum"] = n.choices
	}
	if n.most > 0 {
		s["minimum"], s["maximum"] = n.least, n.most
	}
	if path != "" {
		s["title"], s["description"] = titleOf(path), d.describe(n, path)
	}
	if n.members != nil {
		properties := map[string]any{}
		for key, member := range n.members {
			property := d.json(member, below(path, key))
			if slices.Contains(n.needed, key) && slices.Contains(member.types, "string") {
				property["minLength"] = 1
			}
			properties[key] = property
		}
		s["properties"] = properties
	}
	if n.needed != nil {
		s["required"] = n.needed
	}
	if n.anyOther != nil {
		s["additionalProperties"] = d.json(n.anyOther, below(path, "*"))
	}
	if n.item != nil {
		s["items"] = d.json(n.item, path+"[]")
	}
	return s
}

func (d *describer) hint(n *schemaNode, path string) {
	for i, key := range n.keys {
		member, at := n.members[key], below(path, key)
		sensitive := member.secret || namesSecret(key) && !namesAmount(key) && !slices.Contains(member.types, "object")
		d.hints[at] = Hint{Label: titleOf(at), Help: d.describe(member, at), Order: i + 1, Sensitive: sensitive}
		d.hint(member, at)
	}
	if n.item != nil {
		d.hint(n.item, path+"[]")
	}
	if n.anyOther != nil {
		d.hint(n.anyOther, below(path, "*"))
	}
}

func (d *describer) describe(n *schemaNode, path string) string {
	if text := d.help[path]; text != "" {
		return text
	}
	if !n.isRead {
		return "Read by other programs; openclawd keeps it unchanged."
	}
	return titleOf(path) + "."
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// titleOf makes a title from the last key of a path: maxConcurrent becomes Max concurrent.
func titleOf(path string) string {
	key := strings.TrimSuffix(path[strings.LastIndex(path, ".")+1:], "[]")
	var b strings.Builder
	runes := []rune(strings.TrimLeft(key, "$"))
	for i, r := range runes {
		switch {
		case i == 0:
			b.WriteRune(unicode.ToUpper(r))
		case unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]):
			b.WriteRune(' ')
			b.WriteRune(lowerUnlessWord(runes, i))
		case r == '_':
			b.WriteRune(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// lowerUnlessWord keeps a word in capitals, as in threadReuseTTL.
func lowerUnlessWord(runes []rune, i int) rune {
	if i+1 < len(runes) && unicode.IsUpper(runes[i+1]) {
		return runes[i]
	}
	return unicode.ToLower(runes[i])
}
