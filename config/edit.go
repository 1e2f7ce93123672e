package config

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

type edit struct {
	span
	text string
}

// apply applies edits that do not overlap. Those at one place are in list order.
func apply(content string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(content[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(content[at:])
	return b.String()
}

// errEdit means a bug of this package: the result does not have the requested content.
var errEdit = errors.New("the file cannot be edited as the patch requests; replace all of it")

// edited is a file's text with a patch merged into it. Deletions come first, so that nothing is inserted beside a
// deleted entry.
func edited(content string, root, patch *value) (string, error) {
	want := patched(root, patch)
	e := &editor{layout: layout{content, nil}}
	e.remove(root, patch)
	content = apply(content, e.cuts())
	root = parse("", content, newReport())
	if root == nil {
		return "", errEdit
	}
	e = &editor{layout: newLayout(content)}
	e.merge(root, patch, documentStyle(content, root))
	content = apply(content, e.edits)
	if root = parse("", content, newReport()); root == nil || !same(root, want) {
		if len(content) > maxFileBytes || want.depth() > maxDepth {
			return "", &EditError{Message: "the configuration would be larger than 4 MiB, or nested more than 200 deep", Hint: "send less"}
		}
		return "", errEdit
	}
	return content, nil
}

type editor struct {
	layout
	gone  []span
	edits []edit
}

// remove deletes the members for which the patch has null.
func (e *editor) remove(base, patch *value) {
	switch {
	case byID(base, patch):
		places := placesOf(base)
		for _, item := range patch.items {
			if k, there := places[idOf(item)]; there {
				e.remove(base.items[k], item)
			}
		}
	case base.kind == object && patch.kind == object:
		for _, m := range base.members {
			if over := child(patch, m.key); over != nil && over.kind != null {
				e.remove(m.value, over)
			}
		}
		e.cutMembers(base, func(key string) bool {
			over := child(patch, key)
			return over != nil && over.kind == null
		})
	}
}

// cutMembers deletes members, and the comma before them if there was no trailing one.
func (e *editor) cutMembers(v *value, goes func(key string) bool) {
	last := -1
	for i := range v.entries {
		if one := &v.entries[i]; goes(one.key) {
			e.cut(one)
		} else {
			last = i
		}
	}
	if end := len(v.entries) - 1; last >= 0 && last < end && v.entries[end].comma < 0 {
		e.gone = append(e.gone, span{v.entries[last].comma, v.entries[last].comma + 1})
	}
}

// cut deletes an entry with its comma and surrounding spaces. Comments stay.
func (e *editor) cut(one *entry) {
	from, to := one.from, one.to
	if one.comma < 0 {
		for from > 0 && isBlank(e.content[from-1]) {
			from--
		}
		if from > 0 && isLineEnd(e.before(from)) {
			from = one.from
		}
		e.gone = append(e.gone, span{from, to})
		return
	}
	if strings.TrimFunc(e.content[to:one.comma], isSpace) != "" {
		e.gone = append(e.gone, span{from, to}, span{one.comma, one.comma + 1})
		return
	}
	for to = one.comma + 1; to < len(e.content) && isBlank(e.content[to]); to++ {
	}
	e.gone = append(e.gone, span{from, to})
}

func (e *editor) before(at int) rune {
	r, _ := utf8.DecodeLastRuneInString(e.content[:at])
	return r
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// cuts are the deletions, including lines that become empty.
func (e *editor) cuts() (edits []edit) {
	cuts := union(e.gone)
	for i := range cuts {
		from, to := cuts[i].from, cuts[i].to
		for from > 0 && isBlank(e.content[from-1]) {
			from--
		}
		for to < len(e.content) && isBlank(e.content[to]) {
			to++
		}
		if end := lineEnd(e.content[to:]); end > 0 && (from == 0 || isLineEnd(e.before(from))) {
			cuts[i] = span{from, to + end}
		}
	}
	for _, s := range union(cuts) {
		edits = append(edits, edit{span: s})
	}
	return edits
}

func union(spans []span) (joined []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && s.from <= joined[last].to {
			joined[last].to = max(joined[last].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// lineEnd is the length of the line end at the start of s, 0 if none.
func lineEnd(s string) int {
	if strings.HasPrefix(s, "\r\n") {
		return 2
	}
	r, size := utf8.DecodeRuneInString(s)
	if s == "" || !isLineEnd(r) {
		return 0
	}
	return size
}

// merge merges a patch into an object, or into a list whose entries have ids.
func (e *editor) merge(base, patch *value, outer style) {
	s := outer.of(&e.layout, base)
	var fresh []string
	if base.kind == list {
		places := placesOf(base)
		for _, item := range patch.items {
			if k, there := places[idOf(item)]; there {
				e.merge(base.items[k], item, s)
			} else {
				fresh = append(fresh, s.entry(stripped(item)))
			}
		}
	} else {
		for _, m := range patch.members {
			switch old := child(base, m.key); {
			case m.value.kind == null:
			case old == nil:
				fresh = append(fresh, s.name(m.key)+s.colon+s.entry(stripped(m.value)))
			case old.kind == object && m.value.kind == object, byID(old, m.value):
				e.merge(old, m.value, s)
			default:
				if next := stripped(m.value); !same(old, next) {
					here := s
					if old.kind == text {
						here.quote = e.content[old.from]
					}
					if len(old.entries) > 0 && !strings.ContainsFunc(e.content[old.from:old.to], isLineEnd) {
						here.flat = true
					}
					e.edits = append(e.edits, edit{old.span, here.entry(next)})
				}
			}
		}
	}
	if len(fresh) > 0 {
		e.insert(base, fresh, s)
	}
}

func (e *editor) insert(v *value, fresh []string, s style) {
	if len(v.entries) == 0 {
		e.fill(v, fresh, s)
		return
	}
	last := v.entries[len(v.entries)-1]
	at, closing := last.to, ""
	if last.comma >= 0 {
		at, closing = last.comma+1, ","
	} else {
		e.put(at, at, ",")
	}
	if !s.lines {
		space := strings.TrimPrefix(s.comma, ",")
		e.put(at, at, space+strings.Join(fresh, s.comma)+closing)
		return
	}
	if end, ok := e.restOfLine(at); ok {
		at = end
	}
	e.put(at, at, s.newline+s.indent+strings.Join(fresh, ","+s.newline+s.indent)+closing)
}

// fill adds entries to an empty list or object, after its comments.
func (e *editor) fill(v *value, fresh []string, s style) {
	end := v.to - 1
	at := v.from + 1 + len(strings.TrimRightFunc(e.content[v.from+1:end], isSpace))
	switch broken := strings.ContainsFunc(e.content[at:end], isLineEnd); {
	case s.lines && broken:
		e.put(at, at, s.newline+s.indent+strings.Join(fresh, ","+s.newline+s.indent))
	case s.lines:
		e.put(at, end, s.newline+s.indent+strings.Join(fresh, ","+s.newline+s.indent)+s.newline+s.outer)
	case broken: // a line comment may precede
		e.put(end, end, strings.Join(fresh, s.comma))
	default:
		e.put(at, end, strings.Join(fresh, s.comma))
	}
}

func (e *editor) put(from, to int, text string) {
	e.edits = append(e.edits, edit{span{from, to}, text})
}

// restOfLine is where the line ends, if only comments follow.
func (e *editor) restOfLine(at int) (end int, ok bool) {
	for at < len(e.content) {
		rest := e.content[at:]
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case isLineEnd(r):
			return at, true
		case isSpace(r):
			at += size
		case strings.HasPrefix(rest, "//"):
			at += strings.IndexFunc(rest, isLineEnd) // a bracket follows on another line
		case strings.HasPrefix(rest, "/*"):
			at += 2 + strings.Index(rest[2:], "*/") + 2 // the text is known to parse
		default:
			return 0, false
		}
	}
	return 0, false
}
