package telegramtest

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is a kind of entity in MarkdownV2: its type for clients, and its name in errors.
type kind struct{ name, told string }

var (
	bold       = kind{"Bold", "bold"}
	italic     = kind{"Italic", "italic"}
	underline  = kind{"Underline", "underline"}
	strike     = kind{"Strikethrough", "strikethrough"}
	spoiler    = kind{"Spoiler", "spoiler"}
	code       = kind{"Code", "code"}
	pre        = kind{"Pre", "pre"}
	preCode    = kind{"PreCode", "pre"}
	textURL    = kind{"TextUrl", "text_link"}
	blockQuote = kind{"BlockQuote", "blockquote"}
)

// opened is an entity whose end has not been found.
type opened struct {
	kind     kind
	language string
	offset   int // in UTF-16 units of the result
	at       int // in bytes of the source
	begin    int // in bytes of the result
}

// markdownParser follows Telegram's rules for MarkdownV2.
type markdownParser struct {
	source   string
	i        int
	out      strings.Builder
	units    int
	nested   []opened
	entities []Entity
	line     bool // nothing but the beginning of a line was read
}

// telegramsWords is an error in the words of Telegram.
type telegramsWords string

func (w telegramsWords) Error() string { return string(w) }

// parseMarkdown returns a text in MarkdownV2 without its markup, and its entities.
func parseMarkdown(source string) (string, []Entity, error) {
	p := &markdownParser{source: source, line: true}
	for p.i < len(p.source) {
		if err := p.step(); err != nil {
			return "", nil, err
		}
	}
	if n := len(p.nested); n > 0 && p.nested[n-1].kind == blockQuote {
		p.closeQuote()
	}
	if n := len(p.nested); n > 0 {
		open := p.nested[n-1]
		return "", nil, telegramsWords(fmt.Sprintf("Can't find end of %s entity at byte offset %d", open.kind.name, open.at))
	}
	return p.out.String(), p.entities, nil
}

func (p *markdownParser) at(i int) byte {
	if i < len(p.source) {
		return p.source[i]
	}
	return 0
}

func (p *markdownParser) top() *opened {
	if len(p.nested) == 0 {
		return nil
	}
	return &p.nested[len(p.nested)-1]
}

func (p *markdownParser) inCode() bool {
	t := p.top()
	return t != nil && (t.kind == code || t.kind == pre || t.kind == preCode)
}

// step reads one character, or one mark.
func (p *markdownParser) step() error {
	c := p.source[p.i]
	if next := p.at(p.i + 1); c == '\\' && next > 0 && next <= 126 {
		p.write(rune(next), 2)
		p.line = next == '\n'
		return nil
	}
	reserved := "_*[]()~`>#+-=|{}.!\n"
	if p.inCode() {
		reserved = "`"
	}
	if strings.IndexByte(reserved, c) < 0 {
		r, size := utf8.DecodeRuneInString(p.source[p.i:])
		p.write(r, size)
		p.line = false
		return nil
	}
	if c == '\n' {
		p.newline()
		return nil
	}
	if p.ends(c) {
		return p.close()
	}
	return p.open(c)
}

func (p *markdownParser) write(r rune, size int) {
	p.out.WriteRune(r)
	p.units += utf16.RuneLen(r)
	p.i += size
}

// newline ends a quotation, unless the next line continues it.
func (p *markdownParser) newline() {
	t := p.top()
	quoting := t != nil && t.kind == blockQuote
	p.write('\n', 1)
	p.line = true
	switch {
	case quoting && p.at(p.i) == '>':
		p.i++
		p.line = false
	case quoting:
		p.closeQuote()
	}
}

func (p *markdownParser) closeQuote() {
	t := p.top()
	p.nested = p.nested[:len(p.nested)-1]
	p.entity(t, "")
}

// ends reports whether a mark ends the innermost entity.
func (p *markdownParser) ends(c byte) bool {
	t := p.top()
	if t == nil {
		return false
	}
	next, third := p.at(p.i+1), p.at(p.i+2)
	switch t.kind {
	case bold:
		return c == '*'
	case italic:
		return c == '_' && next != '_'
	case underline:
		return c == '_' && next == '_'
	case strike:
		return c == '~'
	case spoiler:
		return c == '|' && next == '|'
	case code:
		return c == '`'
	case pre, preCode:
		return c == '`' && next == '`' && third == '`'
	case textURL:
		return c == ']'
	}
	return false
}

// open begins an entity.
func (p *markdownParser) open(c byte) error {
	own := opened{offset: p.units, at: p.i, begin: p.out.Len()}
	next := p.at(p.i + 1)
	size := 1
	switch {
	case c == '_' && next == '_':
		own.kind, size = underline, 2
	case c == '_':
		own.kind = italic
	case c == '*':
		own.kind = bold
	case c == '~':
		own.kind = strike
	case c == '|' && next == '|':
		own.kind, size = spoiler, 2
	case c == '[':
		own.kind = textURL
	case c == '`' && next == '`' && p.at(p.i+2) == '`':
		own.kind, own.language, size = p.block()
	case c == '`':
		own.kind = code
	case c == '>' && p.line && p.top() == nil:
		own.kind = blockQuote
	default:
		return telegramsWords(fmt.Sprintf("Character '%c' is reserved and must be escaped with the preceding '\\'", c))
	}
	p.i += size
	p.line = p.line && own.kind != blockQuote
	p.nested = append(p.nested, own)
	return nil
}

// block reads the beginning of a code block: its language and the line break after it.
func (p *markdownParser) block() (k kind, language string, size int) {
	k = pre
	from := p.i + 3
	to := from
	for to < len(p.source) && !strings.ContainsRune(" \t\r\n`", rune(p.source[to])) {
		to++
	}
	i := from
	if to > from && to < len(p.source) && p.source[to] != '`' {
		k, language, i = preCode, p.source[from:to], to
	}
	if a, b := p.at(i), p.at(i+1); a == '\n' || a == '\r' {
		i++
		if (b == '\n' || b == '\r') && a != b {
			i++
		}
	}
	return k, language, i - p.i
}

// close ends the innermost entity.
func (p *markdownParser) close() error {
	t := *p.top()
	p.nested = p.nested[:len(p.nested)-1]
	p.line = false
	switch t.kind {
	case underline, spoiler:
		p.i += 2
	case pre, preCode:
		p.i += 3
	case textURL:
		p.i++
		address, err := p.address(t)
		if err != nil {
			return err
		}
		p.entity(&t, address)
		return nil
	default:
		p.i++
	}
	p.entity(&t, "")
	return nil
}

// address reads the address of a link after its text; without one the text is the address.
func (p *markdownParser) address(t opened) (string, error) {
	if p.at(p.i) != '(' {
		return p.out.String()[t.begin:], nil
	}
	p.i++
	begin, address := p.i, []byte{}
	for p.i < len(p.source) && p.source[p.i] != ')' {
		if next := p.at(p.i + 1); p.source[p.i] == '\\' && next > 0 && next <= 126 {
			p.i++
		}
		address = append(address, p.source[p.i])
		p.i++
	}
	if p.at(p.i) != ')' {
		return "", telegramsWords(fmt.Sprintf("Can't find end of a URL at byte offset %d", begin))
	}
	p.i++
	return string(address), nil
}

// entity records an entity that ends here. Empty ones, and links to nothing, are dropped.
func (p *markdownParser) entity(t *opened, address string) {
	e := Entity{Type: t.kind.told, Offset: t.offset, Length: p.units - t.offset, Language: t.language}
	if e.Length == 0 {
		return
	}
	if t.kind == textURL {
		u, err := url.Parse(address)
		switch {
		case err != nil || address == "":
			return
		case u.Scheme == "tg" && u.Host == "user":
			id, err := strconv.ParseInt(u.Query().Get("id"), 10, 64)
			if err != nil {
				return
			}
			e.Type, e.User = "text_mention", &User{ID: id}
		case u.Scheme == "" && strings.Contains(address, "."):
			e.URL = "http://" + address
		case u.Host == "":
			return
		default:
			e.URL = address
		}
	}
	p.entities = append(p.entities, e)
}
