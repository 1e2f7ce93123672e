package search

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Private-use characters: no piece of a text contains them.
const (
	fieldEnd  = "\uE000" // between two texts, so that no phrase spans both
	facetMark = "\uE001" // begins the token of a filter
)

// maxText is how many bytes of one text of an event are searched.
const maxText = 256 << 10

// text is one searchable text of an event.
type text struct {
	field   string
	words   string
	written bool // prose, not an id or a name
}

// textsOf lists the searchable texts of an event, in the order in which a snippet is chosen.
func textsOf(r *coordination.Record) []text {
	return []text{
		{"message", r.Message, true}, {"replyPreview", r.ReplyPreview, true}, {"title", r.Title, true}, {"label", r.Label, true},
		{"description", r.Description, true}, {"summary", r.Summary, true}, {"reason", r.Reason, true},
		{"fromAgent", r.From(), false}, {"toAgent", r.To(), false}, {"type", r.Type, false}, {"taskId", r.TaskID, false},
		{"workSessionId", r.WorkSessionID, false}, {"conversationId", r.ConversationID, false},
	}
}

// tokenizer writes the tokens of events for FTS5, separated by spaces.
type tokenizer struct {
	pieces pieces
	b      []byte
}

// begin starts the next event.
func (t *tokenizer) begin() { t.b = t.b[:0] }

// text adds the tokens of one text.
func (t *tokenizer) text(words string) {
	t.pieces.read(normal(words))
	if len(t.pieces.list) == 0 {
		return
	}
	for _, p := range t.pieces.list {
		t.b = appendPiece(t.b, t.pieces.of(p), p.dense)
	}
	t.b = append(t.b, fieldEnd...)
	t.b = append(t.b, ' ')
}

// facet adds the token of a filter.
func (t *tokenizer) facet(kind facet, value string) {
	t.b = append(t.b, facetToken(kind, value)...)
	t.b = append(t.b, ' ')
}

// event adds all tokens of an event.
func (t *tokenizer) event(r *coordination.Record) {
	for _, said := range textsOf(r) {
		words := searched(said)
		if words != "" {
			t.text(words)
		}
	}
}

// searched returns the part of a text that is searched, unchanged.
func searched(said text) string {
	words := said.words
	if len(words) > maxText {
		end := maxText
		for end > 0 && !utf8.RuneStart(words[end]) {
			end--
		}
		words = words[:end]
	}
	if said.written {
		return coordination.Mask(words)
	}
	return words
}

// appendPiece writes the tokens of a whole piece.
func appendPiece(b []byte, runes []rune, dense bool) []byte {
	if !dense {
		for _, r := range runes {
			b = utf8.AppendRune(b, r)
		}
		return append(b, ' ')
	}
	for i, r := range runes {
		b = utf8.AppendRune(b, r)
		if i+1 < len(runes) {
			b = utf8.AppendRune(b, runes[i+1])
		}
		b = append(b, ' ')
	}
	return b
}

// facet is an attribute to filter by.
type facet byte

const (
	facetRole     facet = 'r'
	facetType     facet = 't'
	facetCategory facet = 'c'
	facetAgent    facet = 'a' // in lower case
	facetSession  facet = 'w'
	facetInternal facet = 'i' // without a value: internal bookkeeping
)

// facetToken is the token of a filter: short, and safe for any value.
func facetToken(kind facet, value string) string {
	const enough = 12 // bytes; collisions are not expected
	if kind == facetAgent {
		value = strings.ToLower(value)
	}
	sum := sha256.Sum256([]byte(value))
	return facetMark + string(rune(kind)) + hex.EncodeToString(sum[:enough])
}
