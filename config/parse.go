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

// parser reads one JSON5 text. Its methods return the first syntax error as a finding.
type parser struct {
	text   string
	pos    int // the next byte
	depth  int
	report *report

	// The place of the byte at mark, from which here continues counting.
	mark int
	at   position

	comments []span
}

// parse parses a file. It reports faults, and returns nil on an error.
func parse(file, content string, r *report) *value {
	root, _ := parseAll(file, content, r)
	return root
}

// parseAll is parse that also returns comments. Offsets are after a byte order mark.
func parseAll(file, content string, r *report) (root *value, comments []span) {
	p := &parser{text: content, report: r, at: position{file, 1, 1}}
	root, err := p.document()
	if err != nil {
		r.add(*err)
		return nil, nil
	}
	return root, p.comments
}

// byteOrderMark may precede a file's text.
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
			p.report.add(warning(CodeDuplicateKey, m.at, where, fmt.Sprintf("this key is repeated, after %d:%d; the last one counts",
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

// entries reads what is between brackets, separated by commas, with an optional trailing one.
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
	return p.fail(fmt.Sprintf("the file ends inside %s that starts at %d:%d", v.kind, v.at.line, v.at.column),
		fmt.Sprintf("close it with %q; if the file was cut off, restore it", end))
}

// key reads a member's name: quoted, or an ECMAScript identifier.
func (p *parser) key() (string, *Finding) {
	if c := p.peek(); c == '"' || c == '\'' {
		return p.quoted()
	}
	key, err := p.identifier()
	if err == nil && key == "" {
		err = p.fail("found "+p.found()+" where a key belongs", "start a key with a letter, _ or $, or put it in quotes")
	}
	return key, err
}

// word reads a named value: true, false, null, Infinity, NaN.
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
	default: // not shown: it may be an unquoted secret
		f := failure(CodeSyntax, start, nil, "found a word without quotes where a value belongs",
			"put a text in quotes; the only words are true, false, null, Infinity and NaN")
		return nil, &f
	}
	return v, nil
}

func (p *parser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// found describes the next character, never more, since an invalid file may contain a secret anywhere.
func (p *parser) found() string {
	if p.pos == len(p.text) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return fmt.Sprintf("%q", r)
}

func (p *parser) fail(message, hint string) *Finding {
	f := failure(CodeSyntax, p.here(), nil, message, hint)
	return &f
}

// here is the place of the next character. Places must be requested in ascending order.
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
