package search

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Bounds of a query.
const (
	MaxCharacters = 256
	MaxWords      = 16
)

// Words is a parsed query. See the package comment.
type Words struct {
	wanted, barred []word
}

// word is a word, or a phrase, of a query: consecutive pieces.
type word []wordPiece

type wordPiece struct {
	runes []rune
	dense bool
}

// ParseWords parses a query as typed by a person. Any text is accepted; parts that make no sense are ignored. Errors:
// *eventstore.InvalidError of field q, if it is too long, has too many words, or no word to search for.
func ParseWords(query string) (Words, error) {
	var w Words
	if n := utf8.RuneCountInString(query); n > MaxCharacters {
		return w, invalid(query, "use at most "+strconv.Itoa(MaxCharacters)+" characters")
	}
	var p pieces
	for rest := query; rest != ""; {
		var part string
		var barred bool
		part, barred, rest = nextWord(rest)
		p.read(normal(part))
		if len(p.list) == 0 {
			continue
		}
		found := make(word, len(p.list))
		for i, at := range p.list {
			found[i] = wordPiece{append([]rune(nil), p.of(at)...), at.dense}
		}
		if barred {
			w.barred = append(w.barred, found)
		} else {
			w.wanted = append(w.wanted, found)
		}
		if len(w.wanted)+len(w.barred) > MaxWords {
			return Words{}, invalid(query, "use at most "+strconv.Itoa(MaxWords)+" words")
		}
	}
	if len(w.wanted) == 0 {
		return Words{}, invalid(query, "give at least one word, of letters or digits, that must be found")
	}
	return w, nil
}

func invalid(query, hint string) error {
	return &eventstore.InvalidError{Field: "q", Value: query, HintText: hint}
}

// nextWord cuts off the first word or quoted phrase. It always consumes something.
func nextWord(query string) (word string, barred bool, rest string) {
	query = strings.TrimLeftFunc(query, unicode.IsSpace)
	if strings.HasPrefix(query, "-") {
		barred, query = true, query[1:]
	}
	if strings.HasPrefix(query, `"`) {
		word, rest, _ = strings.Cut(query[1:], `"`)
		return word, barred, rest
	}
	end := strings.IndexFunc(query, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
	if end < 0 {
		end = len(query)
	}
	return query[:end], barred, query[end:]
}

// match writes the FTS5 expression. Every token is quoted and contains only letters, digits and their marks.
func (w Words) match(b *strings.Builder) {
	b.WriteByte('(')
	for i, wanted := range w.wanted {
		if i > 0 {
			b.WriteString(" AND ")
		}
		wanted.match(b)
	}
	b.WriteByte(')')
	for _, barred := range w.barred {
		b.WriteString(" NOT ")
		barred.match(b)
	}
}

// match writes a phrase. Its last token is a prefix if the word may continue.
func (w word) match(b *strings.Builder) {
	var tokens []byte
	for _, p := range w[:len(w)-1] {
		tokens = appendPiece(tokens, p.runes, p.dense)
	}
	last := w[len(w)-1]
	begins := !last.dense || len(last.runes) == 1
	if begins {
		for _, r := range last.runes {
			tokens = utf8.AppendRune(tokens, r)
		}
	} else {
		for i := range last.runes[1:] {
			tokens = utf8.AppendRune(tokens, last.runes[i])
			tokens = utf8.AppendRune(tokens, last.runes[i+1])
			tokens = append(tokens, ' ')
		}
	}
	b.WriteByte('"')
	b.Write(tokens)
	b.WriteByte('"')
	if begins {
		b.WriteByte('*')
	}
}
