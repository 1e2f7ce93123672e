package redaction

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

// How long texts are, in characters.
const (
	longerThan = 12  // texts of an event that is named are looked for elsewhere
	headOf     = 40  // of a longer one its beginning counts: others may have cut it there
	fewest     = 2   // a text that is looked for has at least so many
	fewestLeft = 4   // of one that was cut off, or that stands without its Markdown
	maxTexts   = 200 // that are looked for at a time
)

// maxMarked is how many bytes of what is no text of an event are also looked at without their Markdown.
const maxMarked = 1 << 20

// needles are texts that have to go.
type needles struct {
	heads  []string           // each text, or how it begins
	pieces *suffixarray.Index // of all texts: what is a piece of one has to go too; nil where only whole texts count
	known  map[string]bool
	whole  []string
}

func newNeedles() *needles { return &needles{known: map[string]bool{}} }

// ofText has one text looked for, whatever stands around it.
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

// addPayload adds the texts of a payload that others may repeat: not ids, nor what only gives it its structure.
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

// complete makes pieces of the texts count.
func (n *needles) complete() { n.pieces = suffixarray.New([]byte(strings.Join(n.whole, "\x00"))) }

// in finds a payload's first text that has to go, and says where it stands; ok is false for none.
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

// holds reports whether a text has something that has to go, as it is or as previews have it.
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

// cutIn reports whether a text that was cut ends within something that has to go, of which so much is left that it tells what that was.
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

// inRaw reports whether a text that is no JSON, such as a file or what is left of a line, has something that has to go, plain or as JSON writes it.
func (n *needles) inRaw(raw []byte) bool {
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	if n.within(plain(text)) || n.within(unescape(text)) {
		return true
	}
	return len(raw) <= maxMarked && n.within(unmarked(text))
}

var escaped = regexp.MustCompile(`\\u[0-9a-fA-F]{4}(\\u[0-9a-fA-F]{4})?|\\["\\/bfnrt]`)

// unescape reads the escapes of JSON, wherever they stand.
func unescape(text string) string {
	return plain(escaped.ReplaceAllStringFunc(text, func(e string) string {
		var s string
		if json.Unmarshal([]byte(`"`+e+`"`), &s) != nil {
			return e
		}
		return s
	}))
}

// plain is a text with one blank for all space between its words, as previews and titles have it, in composed letters.
func plain(text string) string {
	text = norm.NFC.String(text)
	blank := true // what stands before is the beginning, or a blank
	for _, r := range text {
		space := unicode.IsSpace(r)
		if space && (blank || r != ' ') {
			return strings.Join(strings.Fields(text), " ")
		}
		blank = space
	}
	return strings.TrimSuffix(text, " ")
}

// unmarked is a text as previews have it, without its Markdown.
func unmarked(text string) string { return plain(coordination.Unmarked(text)) }

// trimmed is a text without the dots that say that it was cut.
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

// eachText gives every text of a payload, the names of members and numbers too, with where it stands, until use wants no more: also what a later
// member of the same name hides from others. A text that is JSON itself is looked through as well.
func eachText(payload json.RawMessage, use func(path []string, text string) bool) {
	if !json.Valid(payload) {
		use(nil, string(payload))
		return
	}
	walk(payload, nil, 0, use)
}

const maxNested = 8 // JSON in texts

// walk gives the texts of one JSON value, as far as it can be read, and reports whether use wants more.
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
	enough bool // use wants no more
}

// value takes the next value, and reports whether there may be more.
func (w *walker) value(path []string) bool {
	token, err := w.tokens.Token()
	if err != nil {
		return false
	}
	switch t := token.(type) {
	case string:
		return w.take(path, t) && w.inner(path, t)
	case json.Number:
		return w.take(path, t.String())
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
			if err != nil || !is || !w.take(append(path[:len(path):len(path)], nameOfMember), name) {
				return false
			}
			at = append(path[:len(path):len(path)], name)
		}
		if !w.value(at) {
			return false
		}
	}
	_, err := w.tokens.Token() // its end
	return err == nil
}

func (w *walker) take(path []string, text string) bool {
	w.enough = !w.use(path, text)
	return !w.enough
}

// inner looks through a text that is JSON itself.
func (w *walker) inner(path []string, text string) bool {
	if t := strings.TrimSpace(text); w.nested < maxNested && len(t) > 1 && (t[0] == '{' || t[0] == '[') {
		w.enough = !walk([]byte(t), path, w.nested+1, w.use)
	}
	return !w.enough
}

// nameOfMember stands in a path for the name of a member itself.
const nameOfMember = "(name)"

// structural are members whose texts say where an event belongs, not what was said.
var structural = []string{
	nameOfMember, "eventRole", "role", "type", "kind", "state", "status", "outcome", "phase", "lane", "pool", "key", "owner", "cause", "model", "provider", "api", "channel",
	"sessionKey", "sourceSessionKey", "parentSessionKey", "targetSessionKey", "requesterSessionKey", "fromSessionType", "toSessionType", "author", "provenance", "agent", "fromAgent",
	"toAgent", "collabCategory", "collabSubTags", "collabIntent", "categorySource", "categoryVersion", "path", "file", "kept", "sha256", "previous", "expected", "hash", "configHash",
	"hashBefore", "hashAfter", "timestamp", "priority", "stopReason", "errorClass", "toolName", "sourceTool",
}

// isStructure reports whether the text at a place is an id, or gives an event its structure.
func isStructure(path []string, text string) bool {
	if len(path) > 0 {
		name := path[len(path)-1]
		if slices.Contains(structural, name) || isIDName(name) {
			return true
		}
	}
	return isID(text)
}

// isIDName reports whether a member is called as one that holds ids, or a time.
func isIDName(name string) bool {
	for _, end := range [...]string{"Id", "ID", "Ids", "At", "Ms"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return name == "id" || name == "ids"
}

var uuidLike = regexp.MustCompile(`^([a-z0-9_]+[:/_-])*[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}([.:/#-][a-z0-9.]+)*$`)

// isID reports whether a text is an id, a time or a word of ours, wherever it stands.
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
