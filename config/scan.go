package config

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// space skips white space, line ends and comments.
func (p *parser) space() *Finding {
	for p.pos < len(p.text) {
		rest := p.text[p.pos:]
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case isSpace(r):
			p.pos += size
		case strings.HasPrefix(rest, "//"):
			start := p.pos
			p.lineComment()
			p.comments = append(p.comments, span{start, p.pos})
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return p.fail("a comment starts here and does not end", "close it with */")
			}
			start := p.pos
			p.pos += 2 + end + 2
			p.comments = append(p.comments, span{start, p.pos})
		default:
			return nil
		}
	}
	return nil
}

func (p *parser) lineComment() {
	end := strings.IndexFunc(p.text[p.pos:], isLineEnd)
	if end < 0 {
		p.pos = len(p.text)
		return
	}
	p.pos += end
}

// identifier reads an ECMAScript name, which may contain \u escapes; "" if there is none.
func (p *parser) identifier() (string, *Finding) {
	var b strings.Builder
	for p.pos < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.pos:])
		escaped := r == '\\'
		start := p.pos
		if escaped {
			place := p.here()
			p.pos++
			if p.peek() != 'u' {
				f := failure(CodeSyntax, place, nil, `found '\\' in a key without quotes`, `write \uXXXX there, or put the key in quotes`)
				return "", &f
			}
			p.pos++
			var err *Finding
			if r, err = p.unicodeEscape(); err != nil {
				return "", err
			}
			size = p.pos - start
		}
		if !isIdentifierStart(r) && (b.Len() == 0 || !isIdentifierPart(r)) {
			if escaped {
				return "", p.fail("a key without quotes cannot hold the character of this escape", "put the key in quotes")
			}
			break
		}
		b.WriteRune(r)
		p.pos = start + size
	}
	return b.String(), nil
}

func isSpace(r rune) bool {
	switch r {
	case '\t', '\v', '\f', '\uFEFF':
		return true
	}
	return isLineEnd(r) || unicode.Is(unicode.Zs, r)
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }

func isIdentifierStart(r rune) bool {
	return r == '$' || r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
}

func isIdentifierPart(r rune) bool {
	const nonJoiner, joiner = '\u200C', '\u200D'
	return isIdentifierStart(r) || r == nonJoiner || r == joiner || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)
}
