package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// leastSecret is the minimum length of a secret to be searched for in other texts, in bytes. Shorter ones would match
// by chance.
const leastSecret = 6

// hider replaces the secrets of a tree by *** everywhere: what is a secret in one place is one in all.
func hider(v *value) *strings.Replacer {
	var secrets []string
	eachSecret(v, func(s string) {
		if len(s) >= leastSecret {
			secrets = append(secrets, s)
		}
	})
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, s := range slices.Compact(secrets) {
		pairs = append(pairs, s, masked)
	}
	return strings.NewReplacer(pairs...)
}

// canonical encodes a tree as canonical JSON: keys sorted, no spaces, numbers in decimal, *** for secrets.
func canonical(v *value, hide *strings.Replacer) []byte {
	w := &writer{hide: hide}
	w.value(v)
	return w.Bytes()
}

func eachSecret(v *value, visit func(string)) {
	switch {
	case v.unset:
	case v.secret && (v.kind == text || v.kind == number):
		visit(v.text)
	case v.kind == text:
		urlSecrets(v.text, visit)
	}
	for _, item := range v.items {
		eachSecret(item, visit)
	}
	for _, m := range v.members {
		eachSecret(m.value, visit)
	}
}

type writer struct {
	bytes.Buffer
	hide *strings.Replacer
}

func (w *writer) value(v *value) {
	switch v.kind {
	case null:
		w.WriteString("null")
	case boolean:
		w.WriteString(v.text)
	case number:
		w.number(v)
	case text:
		if v.secret {
			w.text(masked)
		} else {
			w.text(v.text)
		}
	case list:
		w.WriteByte('[')
		for i, item := range v.items {
			w.comma(i)
			w.value(item)
		}
		w.WriteByte(']')
	case object:
		w.object(v)
	}
}

func (w *writer) number(v *value) {
	digits, ok := jsonNumber(v.text)
	switch {
	case v.secret:
		w.text(masked)
	case ok && w.hide.Replace(digits) == digits:
		w.WriteString(digits)
	default:
		w.text(digits)
	}
}

func (w *writer) object(v *value) {
	w.WriteByte('{')
	sorted := slices.SortedFunc(slices.Values(v.members), func(a, b *member) int { return cmp.Compare(a.key, b.key) })
	for i, m := range sorted {
		w.comma(i)
		w.text(m.key)
		w.WriteByte(':')
		w.value(m.value)
	}
	w.WriteByte('}')
}

func (w *writer) comma(i int) {
	if i > 0 {
		w.WriteByte(',')
	}
}

func (w *writer) text(s string) {
	encoder := json.NewEncoder(&w.Buffer)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(maskText(w.hide.Replace(s))) // encoding text cannot fail
	w.Truncate(w.Len() - len("\n"))
}
