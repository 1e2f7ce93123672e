package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// style is how entries are formatted at a place of a file.
type style struct {
	quote   byte   // quote of texts
	key     byte   // quote of keys, or 0 for none if not needed
	colon   string // between key and value
	comma   string // between entries on one line
	newline string
	lines   bool   // one entry per line
	flat    bool   // but not within new entries
	outer   string // before the closing bracket on its line
	indent  string // before entries on their lines
	unit    string // by which indent grows
}

func documentStyle(content string, root *value) style {
	s := style{quote: '"', key: '"', colon: ": ", comma: ", ", newline: "\n", lines: true, unit: "  "}
	if strings.Contains(content, "\r\n") {
		s.newline = "\r\n"
	}
	if first := firstText(root); first != nil {
		s.quote = content[first.from]
	}
	if len(root.entries) > 0 {
		s.lines = strings.ContainsFunc(content[root.from:root.to], isLineEnd)
	}
	return s
}

func firstText(v *value) *value {
	if v.kind == text {
		return v
	}
	for _, e := range v.entries {
		if found := firstText(e.value); found != nil {
			return found
		}
	}
	return nil
}

// of returns the style of v's entries; s is the style of its siblings.
func (s style) of(l *layout, v *value) style {
	content := l.content
	s.outer = l.indentAt(v.from)
	s.lines = s.lines && !s.flat
	s.flat = false
	if len(v.entries) == 0 {
		s.indent = s.outer + s.unit
		return s
	}
	last := v.entries[len(v.entries)-1]
	s.indent = l.indentAt(last.from)
	s.lines = startsLine(content, last.from)
	if unit, deeper := strings.CutPrefix(s.indent, s.outer); s.lines && deeper && unit != "" {
		s.unit = unit
	}
	s.spacing(content, v)
	if inner := last.value; v.kind == list && inner.kind == object && len(inner.entries) > 0 {
		s.spacing(content, inner)
		s.flat = !startsLine(content, inner.entries[0].from)
	}
	return s
}

// spacing adopts the formatting of v's entries.
func (s *style) spacing(content string, v *value) {
	last := v.entries[len(v.entries)-1]
	if v.kind == object {
		s.key, s.colon = 0, ": "
		if c := content[last.from]; c == '"' || c == '\'' {
			s.key = c
		}
		if content[last.nameEnd:last.value.from] == ":" {
			s.colon = ":"
		}
	}
	switch first := v.entries[0]; {
	case len(v.entries) > 1 && v.entries[1].from == first.comma+1:
		s.comma = ","
	case len(v.entries) > 1 && !strings.ContainsFunc(content[first.comma:v.entries[1].from], isLineEnd):
		s.comma = ", "
	case s.colon == ":" && !s.lines:
		s.comma = ","
	}
	for _, e := range v.entries {
		if e.value.kind == text {
			s.quote = content[e.value.from]
			return
		}
	}
}

// startsLine reports whether only space precedes at on its line.
func startsLine(content string, at int) bool {
	r, size := utf8.DecodeLastRuneInString(strings.TrimRightFunc(content[:at], isIndent))
	return size > 0 && isLineEnd(r)
}

func isIndent(r rune) bool { return isSpace(r) && !isLineEnd(r) }

// layout is a text with its line starts.
type layout struct {
	content string
	lines   []int
}

func newLayout(content string) layout {
	l := layout{content, []int{0}}
	for i, r := range content {
		if isLineEnd(r) {
			l.lines = append(l.lines, i+utf8.RuneLen(r))
		}
	}
	return l
}

func (l *layout) indentAt(at int) string {
	i, found := slices.BinarySearch(l.lines, at)
	if !found {
		i--
	}
	line := l.content[l.lines[i]:at]
	return line[:len(line)-len(strings.TrimLeftFunc(line, isIndent))]
}

func (s style) entry(v *value) string {
	if s.flat {
		s.lines = false
	}
	var b strings.Builder
	s.write(&b, v, s.indent)
	return b.String()
}

func (s style) write(b *strings.Builder, v *value, indent string) {
	switch v.kind {
	case null:
		b.WriteString("null")
	case boolean:
		b.WriteString(v.text)
	case number:
		digits, _ := jsonNumber(v.text)
		b.WriteString(digits)
	case text:
		b.WriteString(quote(v.text, s.quote))
	case list:
		s.writeEntries(b, '[', ']', len(v.items), s.lines && hasInner(v), indent, func(i int, indent string) { s.write(b, v.items[i], indent) })
	case object:
		s.writeEntries(b, '{', '}', len(v.members), s.lines, indent, func(i int, indent string) {
			b.WriteString(s.name(v.members[i].key) + s.colon)
			s.write(b, v.members[i].value, indent)
		})
	}
}

// hasInner reports whether a list contains lists or objects.
func hasInner(v *value) bool {
	for _, item := range v.items {
		if item.kind == list || item.kind == object {
			return true
		}
	}
	return false
}

func (s style) writeEntries(b *strings.Builder, open, end byte, n int, lines bool, indent string, write func(i int, indent string)) {
	b.WriteByte(open)
	for i := range n {
		switch {
		case lines && i > 0:
			b.WriteString("," + s.newline + indent + s.unit)
		case lines:
			b.WriteString(s.newline + indent + s.unit)
		case i > 0:
			b.WriteString(s.comma)
		}
		write(i, indent+s.unit)
	}
	if lines && n > 0 {
		b.WriteString(s.newline + indent)
	}
	b.WriteByte(end)
}

func (s style) name(key string) string {
	if s.key != 0 {
		return quote(key, s.key)
	}
	for i, r := range key {
		if !isIdentifierStart(r) && (i == 0 || !isIdentifierPart(r)) {
			return quote(key, s.quote)
		}
	}
	if key == "" {
		return quote(key, s.quote)
	}
	return key
}

// quote quotes a text for readers of JSON, or of JSON5 if with is a single quote.
func quote(s string, with byte) string {
	var b strings.Builder
	b.WriteByte(with)
	for _, r := range s {
		switch {
		case r == rune(with) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r <= 0xFFFF && (unicode.IsControl(r) || isLineEnd(r) || r == '\uFEFF'):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(with)
	return b.String()
}
