package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of one file.
const (
	maxFileBytes = 4 << 20
	maxDepth     = 200
)

// parser reads one JSON5 text. Its methods return the first thing that is not JSON5 as a finding; nobody knows what follows it.
type parser struct {
	text   string
	pos    int // byte that is read next
	depth  int
	report *report

	// The place of the byte at mark, from which here goes on counting.
	mark int
	at   position

	comments []span
}

// parse reads the text of a file. It reports what is wrong, and returns nil if that is an error.
func parse(file, content string, r *report) *value {
	root, _ := parseAll(file, content, r)
	return root
}

// parseAll is parse, and tells where comments stand. Places in the text are those behind a byte order mark.
func parseAll(file, content string, r *report) (root *value, comments []span) {
	p := &parser{text: content, report: r, at: position{file, 1, 1}}
	root, err := p.document()
	if err != nil {
		r.add(*err)
		return nil, nil
	}
	return root, p.comments
}

// byteOrderMark may stand before a file's text, which begins behind it.
const byteOrderMark = "\uFEFF"

func (p *parser) document() (*value, *Finding) {
	p.text = strings.TrimPrefix(p.text, byteOrderMark)
	if err := p.checkEncoding(); err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos == len(p.text) {
		return nil, p.fail("the file is empty", "write {} for a configuration without settings")
	}
	root, err := p.value(nil)
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos < len(p.text) {
		return nil, p.fail("found "+p.found()+" after the end of the configuration", "remove what follows the last bracket")
	}
	return root, nil
}

func (p *parser) checkEncoding() *Finding {
	if utf8.ValidString(p.text) {
		return nil
	}
	for p.pos < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.pos:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		p.pos += size
	}
	f := failure(CodeEncoding, p.here(), nil, "the file is not UTF-8 text", "save it as UTF-8")
	return &f
}

// value reads any value. The next byte is its first.
func (p *parser) value(at *path) (*value, *Finding) {
	from := p.pos
	v, err := p.anyValue(at)
	if err == nil {
		v.span = span{from, p.pos}
	}
	return v, err
}

func (p *parser) anyValue(at *path) (*value, *Finding) {
	switch c := p.peek(); {
	case c == '{':
		return p.object(at)
	case c == '[':
		return p.list(at)
	case c == '"' || c == '\'':
		v := &value{kind: text, at: p.here()}
		s, err := p.quoted()
		v.text = s
		return v, err
	case c == '+' || c == '-' || c == '.' || '0' <= c && c <= '9':
		return p.number()
	}
	return p.word()
}

func (p *parser) object(at *path) (*value, *Finding) {
	v := newObject(p.here())
	err := p.entries(v, '}', func(e *entry) *Finding {
		m := &member{at: p.here()}
		var err *Finding
		if m.key, err = p.key(); err != nil {
			return err
		}
		e.key, e.nameEnd = m.key, p.pos
		if err = p.space(); err != nil {
			return err
		}
		if p.peek() != ':' {
			return p.fail("found "+p.found()+" where the colon after a key belongs",
				"put a colon after the key; a key with other characters than letters, digits, _ and $ needs quotes")
		}
		p.pos++
		if err = p.space(); err != nil {
			return err
		}
		where := at.member(m.key)
		if m.value, err = p.value(where); err != nil {
			return err
		}
		if first := v.index[m.key]; first != nil {
			p.report.add(warning(CodeDuplicateKey, m.at, where, fmt.Sprintf("this key stands here again, after %d:%d; the last one counts",
				first.at.line, first.at.column), "remove one of them"))
		}
		e.value = m.value
		v.set(m)
		return nil
	})
	return v, err
}

func (p *parser) list(at *path) (*value, *Finding) {
	v := &value{kind: list, at: p.here()}
	err := p.entries(v, ']', func(e *entry) *Finding {
		item, err := p.value(at.item(len(v.items)))
		v.items = append(v.items, item)
		e.value = item
		return err
	})
	return v, err
}

// entries reads what stands between brackets, separated by commas, of which the last entry may have one too.
func (p *parser) entries(v *value, end byte, read func(*entry) *Finding) *Finding {
	if p.depth++; p.depth > maxDepth {
		f := failure(CodeDepth, v.at, nil, fmt.Sprintf("brackets are nested more than %d deep", maxDepth), "remove some levels")
		return &f
	}
	for p.pos++; ; {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == end && p.pos < len(p.text) {
			break
		}
		if p.pos == len(p.text) {
			return p.unclosed(v, end)
		}
		one := entry{span: span{from: p.pos}, comma: -1}
		if err := read(&one); err != nil {
			return err
		}
		one.to = p.pos
		if err := p.space(); err != nil {
			return err
		}
		switch c := p.peek(); {
		case p.pos == len(p.text):
			return p.unclosed(v, end)
		case c == ',':
			one.comma = p.pos
			p.pos++
		case c != end:
			return p.fail(fmt.Sprintf("found %s where a comma or %q belongs", p.found(), end), "put a comma between the entries")
		}
		v.entries = append(v.entries, one)
	}
	p.pos++
	p.depth--
	return nil
}

func (p *parser) unclosed(v *value, end byte) *Finding {
	return p.fail(fmt.Sprintf("the file ends inside %s that begins at %d:%d", v.kind, v.at.line, v.at.column),
		fmt.Sprintf("close it with %q; if the file was cut off, restore it", end))
}

// key reads the name of a member: in quotes, or an ECMAScript identifier.
func (p *parser) key() (string, *Finding) {
	if c := p.peek(); c == '"' || c == '\'' {
		return p.quoted()
	}
	key, err := p.identifier()
	if err == nil && key == "" {
		err = p.fail("found "+p.found()+" where a key belongs", "begin a key with a letter, _ or $, or put it in quotes")
	}
	return key, err
}

// word reads a value that is a name: true, false, null and the numbers that have one.
func (p *parser) word() (*value, *Finding) {
	start := p.here()
	word, err := p.identifier()
	if err != nil {
		return nil, err
	}
	v := &value{at: start, text: word}
	switch word {
	case "":
		return nil, p.fail("found "+p.found()+" where a value belongs", "write a value, or remove the key or comma before it")
	case "null":
		v.kind = null
	case "true", "false":
		v.kind = boolean
	case "Infinity", "NaN":
		v.kind = number
	default: // the word is not shown: it may be a secret that lacks its quotes
		f := failure(CodeSyntax, start, nil, "found a word without quotes where a value belongs",
			"put a text in quotes; the only words are true, false, null, Infinity and NaN")
		return nil, &f
	}
	return v, nil
}

// peek is the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// found names the next character for a message. It is never more than one, for a file that is not JSON5 may hold a secret anywhere.
func (p *parser) found() string {
	if p.pos == len(p.text) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return fmt.Sprintf("%q", r)
}

// fail is a syntax error at the next character.
func (p *parser) fail(message, mend string) *Finding {
	f := failure(CodeSyntax, p.here(), nil, message, mend)
	return &f
}

// here is the place of the next character. It must not be asked for places before one that it has told.
func (p *parser) here() position {
	for p.mark < p.pos {
		r, size := utf8.DecodeRuneInString(p.text[p.mark:])
		p.mark += size
		switch {
		case r == '\n', r == '\r' && !strings.HasPrefix(p.text[p.mark:], "\n"):
			p.at.line++
			p.at.column = 1
		case r != '\r':
			p.at.column++
		}
	}
	return p.at
}
