package config

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func (p *parser) quoted() (string, *Finding) {
	start := p.here()
	quote := p.text[p.pos]
	p.pos++
	plain := p.pos // start of the current run of literal characters
	var b strings.Builder
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; c {
		case quote:
			b.WriteString(p.text[plain:p.pos])
			p.pos++
			return b.String(), nil
		case '\n', '\r':
			f := failure(CodeSyntax, start, nil, "a text starts here and is not closed on its line",
				`close it with its quote; write a newline as \n, or end the line with a backslash`)
			return "", &f
		case '\\':
			b.WriteString(p.text[plain:p.pos])
			s, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteString(s)
			plain = p.pos
		default:
			p.pos++
		}
	}
	f := failure(CodeSyntax, start, nil, "a text starts here and is not closed", "close it with its quote; if the file was cut off, restore it")
	return "", &f
}

func (p *parser) escape() (string, *Finding) {
	p.pos++
	if p.pos == len(p.text) {
		return "", nil // quoted reports the unclosed text
	}
	r, size := utf8.DecodeRuneInString(p.text[p.pos:])
	switch {
	case '1' <= r && r <= '9', r == '0' && p.pos+1 < len(p.text) && isDigit(p.text[p.pos+1]):
		return "", p.fail("a backslash cannot stand before this digit", `write \xHH for a character, or two backslashes for a backslash`)
	case r == '\r' && strings.HasPrefix(p.text[p.pos:], "\r\n"):
		p.pos += 2
		return "", nil
	}
	p.pos += size
	switch r {
	case 'x':
		n, err := p.hex(2)
		return string(n), err
	case 'u':
		n, err := p.unicodeEscape()
		return string(n), err
	case '\n', '\r', '\u2028', '\u2029':
		return "", nil
	}
	if i := strings.IndexRune("0bfnrtv", r); i >= 0 {
		return "\x00\b\f\n\r\t\v"[i : i+1], nil
	}
	return string(r), nil
}

// unicodeEscape reads what follows \u: four digits, a surrogate pair, or any number in braces. A single surrogate
// becomes U+FFFD, as in encoding/json.
func (p *parser) unicodeEscape() (rune, *Finding) {
	if p.peek() == '{' {
		return p.bracedEscape()
	}
	r, err := p.hex(4)
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if rest := p.text[p.pos:]; strings.HasPrefix(rest, `\u`) && len(rest) >= 6 {
		low, err := strconv.ParseUint(rest[2:6], 16, 16)
		if pair := utf16.DecodeRune(r, rune(low)); err == nil && pair != utf8.RuneError {
			p.pos += 6
			return pair, nil
		}
	}
	return utf8.RuneError, nil
}

func (p *parser) bracedEscape() (rune, *Finding) {
	digits, _, closed := strings.Cut(p.text[p.pos+1:], "}")
	n, err := uint64(0), error(nil)
	if closed {
		n, err = strconv.ParseUint(digits, 16, 32)
	}
	if !closed || err != nil || n > utf8.MaxRune || strings.Contains(digits, "_") {
		return 0, p.fail(`\u{ is not followed by the number of a character and }`, `write it as \u{1F33F}`)
	}
	p.pos += 1 + len(digits) + 1
	if !utf8.ValidRune(rune(n)) {
		return utf8.RuneError, nil
	}
	return rune(n), nil
}

// hex reads exactly this many hexadecimal digits.
func (p *parser) hex(digits int) (rune, *Finding) {
	n := rune(0)
	for range digits {
		c := p.peek()
		if !isHex(c) {
			return 0, p.fail("found "+p.found()+" where a hexadecimal digit belongs", `write exactly two digits after \x and four after \u`)
		}
		d, _ := strconv.ParseUint(string(c), 16, 8) // c is a digit
		n = n<<4 | rune(d)
		p.pos++
	}
	return n, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
