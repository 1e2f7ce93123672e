package redact

import (
	"bytes"
	"encoding/json"
	"index/suffixarray"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/pronto-lab/openclawd/coordination"
)

// Limits for texts, in characters.
const (
	longerThan = 12  // least length of a named event's texts that are searched elsewhere
	headOf     = 40  // only the first so many of a longer one are compared: it may be cut there
	fewest     = 2   // least length of a text to search for
	fewestLeft = 4   // least length of a piece that was cut off, or that lacks its Markdown
	maxTexts   = 200 // texts that are searched at a time
)

// maxMarked bounds, in bytes, what is also searched without its Markdown where it is not an event's text.
const maxMarked = 1 << 20

// needles are texts to be removed.
type needles struct {
	heads  []string           // each text, or its start
	pieces *suffixarray.Index // of all texts: pieces of them must go too; nil if only whole texts count
	known  map[string]bool
	whole  []string
}

func newNeedles() *needles { return &needles{known: map[string]bool{}} }

// ofText searches for one text, in any context.
func ofText(text string) *needles {
	n := newNeedles()
	n.add(text)
	if bare := unmarked(text); utf8.RuneCountInString(bare) >= fewestLeft {
		n.add(bare)
	}
	return n
}

func (n *needles) add(text string) {
	text = plain(text)
	if text == "" || n.known[text] {
		return
	}
	n.known[text] = true
	n.whole = append(n.whole, text)
	if head := headTo(text, headOf); !slices.Contains(n.heads, head) {
		n.heads = append(n.heads, head)
	}
}

// addPayload adds the texts of a payload that other events may repeat: not ids, nor structural fields.
func (n *needles) addPayload(payload json.RawMessage) {
	eachText(payload, func(path []string, text string) bool {
		for _, form := range [...]string{plain(text), unmarked(text)} {
			if form = trimmed(form); utf8.RuneCountInString(form) > longerThan && !isStructure(path, form) {
				n.add(form)
			}
		}
		return true
	})
}

// complete makes pieces of the texts count too.
func (n *needles) complete() { n.pieces = suffixarray.New([]byte(strings.Join(n.whole, "\x00"))) }

// in returns the path of a payload's first text to be removed; ok is false for none.
func (n *needles) in(payload json.RawMessage) (field string, ok bool) {
	if len(n.heads) == 0 || len(payload) == 0 {
		return "", false
	}
	eachText(payload, func(path []string, text string) bool {
		if ok = n.holds(text); ok {
			field = strings.Join(path[:min(len(path), 3)], ".")
		}
		return !ok
	})
	return field, ok
}

// holds reports whether a text contains something to be removed, as it is or in the form of previews.
func (n *needles) holds(text string) bool {
	whole := plain(text)
	if n.has(whole) {
		return true
	}
	bare := coordination.Unmarked(text)
	return bare != text && bare != whole && n.has(plain(bare))
}

func (n *needles) has(text string) bool {
	if n.within(text) {
		return true
	}
	left := trimmed(text)
	if left != text && n.cutIn(left) {
		return true
	}
	return n.pieces != nil && utf8.RuneCountInString(left) > longerThan && !isID(left) && len(n.pieces.Lookup([]byte(left), 1)) > 0
}

func (n *needles) within(text string) bool {
	return slices.ContainsFunc(n.heads, func(head string) bool { return strings.Contains(text, head) })
}

// cutIn reports whether a text that was cut ends within something to be removed, with enough of it left to recognize
// it.
func (n *needles) cutIn(text string) bool {
	return slices.ContainsFunc(n.heads, func(head string) bool {
		least := longerThan + 1
		if n.pieces == nil {
			least = max(fewestLeft, min(longerThan, (utf8.RuneCountInString(head)+1)/2))
		}
		runes := 0
		for at := range head {
			if runes >= least && head[at-1] != ' ' && strings.HasSuffix(text, head[:at]) {
				return true
			}
			runes++
		}
		return false
	})
}

// inRaw reports whether text that is not JSON, such as a file or the rest of a line, contains something to be removed,
// plain or escaped as in JSON.
func (n *needles) inRaw(raw []byte) bool {
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	if n.within(plain(text)) || n.within(unescape(text)) {
		return true
	}
	return len(raw) <= maxMarked && n.within(unmarked(text))
}

var escaped = regexp.MustCompile(`\\u[0-9a-fA-F]{4}(\\u[0-9a-fA-F]{4})?|\\["\\/bfnrt]`)

// unescape decodes JSON escapes anywhere in a text.
func unescape(text string) string {
	return plain(escaped.ReplaceAllStringFunc(text, func(e string) string {
		var s string
		if json.Unmarshal([]byte(`"`+e+`"`), &s) != nil {
			return e
		}
		return s
	}))
}

// plain normalizes a text as previews and titles do: NFC, with one space between words.
func plain(text string) string {
	text = norm.NFC.String(text)
	blank := true // preceded by the start or a space
	for _, r := range text {
		space := unicode.IsSpace(r)
		if space && (blank || r != ' ') {
			return strings.Join(strings.Fields(text), " ")
		}
		blank = space
	}
	return strings.TrimSuffix(text, " ")
}

// unmarked returns a text without its Markdown, as in previews.
func unmarked(text string) string { return plain(coordination.Unmarked(text)) }

// trimmed removes the ellipsis that marks a cut text.
func trimmed(text string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(text, "..."), "\u2026"), " ")
}

func headTo(text string, runes int) string {
	for at := range text {
		if runes == 0 {
			return strings.TrimRight(text[:at], " ")
		}
		runes--
	}
	return text
}

// eachText calls use for every text of a payload with its path, including member names and numbers, until use
// returns false: also for values that a later member of the same name hides. Texts that are JSON themselves are
// searched as well.
func eachText(payload json.RawMessage, use func(path []string, text string) bool) {
	if !json.Valid(payload) {
		use(nil, string(payload))
		return
	}
	walk(payload, nil, 0, use)
}

const maxNested = 8 // JSON within texts

// walk visits the texts of one JSON value, as far as it can be parsed, and reports whether to continue.
func walk(text []byte, path []string, nested int, use func([]string, string) bool) bool {
	w := &walker{tokens: json.NewDecoder(bytes.NewReader(text)), nested: nested, use: use}
	w.tokens.UseNumber()
	w.value(path)
	return !w.enough
}

type walker struct {
	tokens *json.Decoder
	nested int
	use    func(path []string, text string) bool
	enough bool // use returned false
}

// value visits the next value, and reports whether to continue.
func (w *walker) value(path []string) bool {
	token, err := w.tokens.Token()
	if err != nil {
		return false
	}
	switch t := token.(type) {
	case string:
		return w.visit(path, t) && w.inner(path, t)
	case json.Number:
		return w.visit(path, t.String())
	case json.Delim:
		return w.members(path, t == '{')
	}
	return true
}

func (w *walker) members(path []string, named bool) bool {
	at := path
	for w.tokens.More() {
		if named {
			token, err := w.tokens.Token()
			name, is := token.(string)
			if err != nil || !is || !w.visit(append(path[:len(path):len(path)], nameOfMember), name) {
				return false
			}
			at = append(path[:len(path):len(path)], name)
		}
		if !w.value(at) {
			return false
		}
	}
	_, err := w.tokens.Token() // the closing delimiter
	return err == nil
}

func (w *walker) visit(path []string, text string) bool {
	w.enough = !w.use(path, text)
	return !w.enough
}

// inner visits a text that is JSON itself.
func (w *walker) inner(path []string, text string) bool {
	if t := strings.TrimSpace(text); w.nested < maxNested && len(t) > 1 && (t[0] == '{' || t[0] == '[') {
		w.enough = !walk([]byte(t), path, w.nested+1, w.use)
	}
	return !w.enough
}

// nameOfMember stands in a path for the name of a member itself.
const nameOfMember = "(name)"

// structural lists members that say where an event belongs, not what was said.
var structural = []string{
	nameOfMember, "eventRole", "role", "type", "kind", "state", "status", "outcome", "phase", "lane", "pool", "key", "owner", "cause", "model", "provider", "api", "channel",
	"sessionKey", "sourceSessionKey", "parentSessionKey", "targetSessionKey", "requesterSessionKey", "fromSessionType", "toSessionType", "author", "provenance", "agent", "fromAgent",
	"toAgent", "collabCategory", "collabSubTags", "collabIntent", "categorySource", "categoryVersion", "path", "file", "kept", "sha256", "previous", "expected", "hash", "configHash",
	"hashBefore", "hashAfter", "timestamp", "priority", "stopReason", "errorClass", "toolName", "sourceTool",
}

// isStructure reports whether the text at a path is an id, or gives an event its structure.
func isStructure(path []string, text string) bool {
	if len(path) > 0 {
		name := path[len(path)-1]
		if slices.Contains(structural, name) || isIDName(name) {
			return true
		}
	}
	return isID(text)
}

// isIDName reports whether a member's name says that it holds ids, or a time.
func isIDName(name string) bool {
	for _, end := range [...]string{"Id", "ID", "Ids", "At", "Ms"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return name == "id" || name == "ids"
}

var uuidLike = regexp.MustCompile(`^([a-z0-9_]+[:/_-])*[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}([.:/#-][a-z0-9.]+)*$`)

// isID reports whether a text is an id, a time or one of our keywords, in any place.
func isID(text string) bool {
	if strings.ContainsRune(text, ' ') {
		return false
	}
	if _, is := coordination.Lookup(text); is || uuidLike.MatchString(text) {
		return true
	}
	if _, err := coordination.ParseSessionKey(text); err == nil && strings.HasPrefix(text, "agent:") {
		return true
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return true
	}
	return false
}
