package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Snippet is the part of an event's text around the matches, for people.
type Snippet struct {
	Text    string  `json:"text"`    // one line, at most 160 characters and a … at either end
	Field   string  `json:"field"`   // field of the event's data, or type
	Matches []Match `json:"matches"` // in order, disjoint; empty if only hidden text matched
}

// Match is a part of Snippet.Text, in UTF-16 units as ECMAScript counts.
type Match struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

const (
	snippetLength = 160 // characters
	snippetBefore = 40  // of them before the first match
)

// SnippetOf shows the matches of words in an event: in the first of its texts that has one, cleaned; otherwise the
// beginning of its first text.
func (w Words) SnippetOf(r *coordination.Record, roster *coordination.Roster) Snippet {
	var p pieces
	best := Snippet{Matches: []Match{}}
	for _, said := range textsOf(r) {
		if said.words == "" {
			continue
		}
		words := searched(said)
		if said.written {
			words = coordination.ForPeople(words, roster).Text
		}
		words = normal(words)
		p.read(words)
		if spans := w.spans(&p); len(spans) > 0 {
			return snippet(said.field, words, spans)
		}
		if best.Field == "" {
			best = snippet(said.field, words, nil)
		}
	}
	return best
}

// snippet cuts a text around the first of some matches.
func snippet(field, words string, spans []span) Snippet {
	from := 0
	if len(spans) > 0 {
		from = spans[0].start
		for n := 0; n < snippetBefore && from > 0; n++ {
			_, size := utf8.DecodeLastRuneInString(words[:from])
			from -= size
		}
	}
	to := from
	for n := 0; n < snippetLength && to < len(words); n++ {
		_, size := utf8.DecodeRuneInString(words[to:])
		to += size
	}
	const more = "…"
	s := Snippet{Field: field, Matches: []Match{}}
	var b strings.Builder
	units := 0
	if from > 0 {
		b.WriteString(more)
		units++
	}
	next := 0
	for at, r := range words[from:to] {
		at += from
		for next < len(spans) && spans[next].end <= at {
			next++
		}
		within := next < len(spans) && spans[next].start <= at
		if within && spans[next].start == at {
			s.Matches = append(s.Matches, Match{Start: units})
		}
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			r = ' '
		}
		b.WriteRune(r)
		units++
		if r > 0xFFFF {
			units++
		}
		if within {
			s.Matches[len(s.Matches)-1].End = units
		}
	}
	if to < len(words) {
		b.WriteString(more)
	}
	s.Text = b.String()
	return s
}
