package config

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// redactor removes a file's secrets from what is shown of it. What is a secret in one place is one in all.
type redactor struct {
	hidden  *strings.Replacer
	secrets []string
}

// newRedactor finds the secrets of a whole configuration and of its main file, whose values it marks: including values
// overwritten by a repeated key, in every notation. known are secrets of another version of the file.
func newRedactor(whole, main *value, text string, known []string) *redactor {
	r := &redactor{secrets: slices.Clone(known)}
	add := func(s string) {
		if len(s) >= leastSecret {
			r.secrets = append(r.secrets, s)
		}
	}
	eachSecret(whole, add)
	if main != nil {
		markSecrets(main, false)
		markOverwritten(main, false)
		eachScalar(main, func(v *value) {
			if v.secret = v.secret && !isReference(v.text); !v.secret {
				urlSecrets(v.text, add)
				return
			}
			add(v.text)
			if written := text[v.from:v.to]; v.kind == number {
				digits, _ := jsonNumber(v.text)
				add(digits)
			} else {
				add(written[1 : len(written)-1])
			}
		})
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	r.secrets = slices.Compact(r.secrets)
	var pairs []string
	for _, s := range r.secrets {
		pairs = append(pairs, s, Redacted)
	}
	r.hidden = strings.NewReplacer(pairs...)
	return r
}

var onlyReferences = regexp.MustCompile(`^(\$\{[A-Z_][A-Z0-9_]*\})+$`)

// isReference reports whether a text consists only of references to variables.
func isReference(s string) bool { return onlyReferences.MatchString(s) }

// markOverwritten marks what markSecrets does not reach: values of repeated keys.
func markOverwritten(v *value, inside bool) {
	markWebhook(v)
	for _, e := range v.entries {
		within := inside
		if v.kind == object {
			if v.index[e.key].value != e.value {
				markSecret(e.key, e.value, inside)
			}
			within = inside || namesSecret(e.key) || holdsSecrets(e.key)
		}
		markOverwritten(e.value, within)
	}
}

func eachScalar(v *value, visit func(*value)) {
	if v.kind != list && v.kind != object {
		visit(v)
	}
	for _, e := range v.entries {
		eachScalar(e.value, visit)
	}
}

// within removes secrets, and what looks like one, from a text.
func (r *redactor) within(s string) string { return maskText(r.hidden.Replace(s)) }

func (r *redactor) hides(v *value) bool {
	switch {
	case v.secret:
		return v.kind == text || v.kind == number
	case v.kind == text:
		return r.within(v.text) != v.text
	case v.kind == number:
		digits, _ := jsonNumber(v.text)
		return r.hidden.Replace(digits) != digits || r.hidden.Replace(v.text) != v.text
	}
	return false
}

// json encodes a tree as JSON. A text that contains a secret is hidden completely.
func (r *redactor) json(v *value) []byte {
	if v == nil || v.kind != object {
		return []byte("{}")
	}
	return canonical(r.tree(v), r.hidden)
}

func (r *redactor) tree(v *value) *value {
	shown := &value{kind: v.kind, text: v.text}
	switch v.kind {
	case list:
		for _, item := range v.items {
			shown.items = append(shown.items, r.tree(item))
		}
	case object:
		shown = newObject(position{})
		for _, m := range v.members {
			shown.set(&member{m.key, m.at, r.tree(m.value)})
		}
	default:
		if r.hides(v) {
			shown.kind, shown.text = text, Redacted
		}
	}
	return shown
}

// text is a file's text after mark without secrets. It is not ok if one remains, spanning several tokens.
func (r *redactor) text(mark, content string, root *value, comments []span) (shown string, ok bool) {
	edits := r.values(content, root, nil)
	for _, gap := range gaps(content, comments) {
		edits = append(edits, r.comments(content, gap)...)
	}
	shown = mark + apply(content, edits)
	rest := strings.ReplaceAll(shown, Redacted, "\x00")
	return shown, r.hidden.Replace(rest) == rest
}

// values are the edits that remove secrets from keys and values.
func (r *redactor) values(content string, v *value, edits []edit) []edit {
	if v.kind != list && v.kind != object {
		if r.hides(v) {
			edits = append(edits, edit{v.span, quotedAs(content[v.from], Redacted)})
		}
		return edits
	}
	for _, e := range v.entries {
		if v.kind == object {
			if name := content[e.from:e.nameEnd]; r.within(e.key) != e.key || r.hidden.Replace(name) != name {
				edits = append(edits, edit{span{e.from, e.nameEnd}, quotedAs(name[0], Redacted)})
			}
		}
		edits = r.values(content, e.value, edits)
	}
	return edits
}

// quotedAs quotes a plain text like first, or in double quotes.
func quotedAs(first byte, s string) string {
	if first == '\'' {
		return "'" + s + "'"
	}
	return `"` + s + `"`
}

func gaps(content string, comments []span) (together [][]span) {
	for i, c := range comments {
		if i > 0 && strings.TrimFunc(content[comments[i-1].to:c.from], isSpace) == "" {
			last := len(together) - 1
			together[last] = append(together[last], c)
			continue
		}
		together = append(together, []span{c})
	}
	return together
}

// comments are the edits that remove secrets from a group of comments. A secret spanning several removes them all.
func (r *redactor) comments(content string, gap []span) (edits []edit) {
	var apart strings.Builder
	for i, c := range gap {
		if i > 0 {
			apart.WriteString(content[gap[i-1].to:c.from])
		}
		comment := content[c.from:c.to]
		shown := r.within(comment)
		if shown != comment {
			edits = append(edits, edit{c, shown})
		}
		apart.WriteString(shown)
	}
	if r.within(content[gap[0].from:gap[len(gap)-1].to]) == apart.String() {
		return edits
	}
	edits = edits[:0]
	for _, c := range gap {
		blank := "// " + Redacted
		if strings.HasPrefix(content[c.from:], "/*") {
			blank = "/* " + Redacted + " */"
		}
		edits = append(edits, edit{c, blank})
	}
	return edits
}
