package ndjson

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isSpace is what JavaScript trims: U+FEFF but not U+0085; Go does the opposite.
func isSpace(r rune) bool { return r == '\uFEFF' || r != '\u0085' && unicode.IsSpace(r) }

// trimType also trims U+0085, which the store refuses at the ends of a type.
func trimType(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r == '\u0085' || isSpace(r) })
}

// decode replaces invalid UTF-8 by U+FFFD as the WHATWG decoder, hence JavaScript, does: once per maximal subpart.
// Valid text is returned unchanged.
func decode(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/8)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			for size < len(b) && !utf8.FullRune(b[:size+1]) {
				size++
			}
		}
		out = utf8.AppendRune(out, r)
		b = b[size:]
	}
	return out
}

// clip returns the first limit bytes of a text, without cutting a character in two.
func clip(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return b[:cut]
}

// appendString appends s as a JSON string with the escapes of JSON.stringify and no others, so that a canonical line survives import
// and export byte by byte.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		if at := strings.IndexByte("\b\f\n\r\t\"\\", c); at >= 0 {
			dst = append(dst, '\\', `bfnrt"\`[at])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func hasLineBreak(b []byte) bool {
	return bytes.IndexByte(b, '\n') >= 0 || bytes.IndexByte(b, '\r') >= 0
}
