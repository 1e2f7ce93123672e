package coordination

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// ErrNotObject is returned when a JSON object was expected and something else, or nothing, was there.
var ErrNotObject = errors.New("coordination: not a JSON object")

// ErrNotArray is returned when a JSON array was expected and something else, or nothing, was there.
var ErrNotArray = errors.New("coordination: not a JSON array")

// EachField calls visit for each member of a JSON object, in order, until visit returns false. Keys are unescaped and, unlike in
// encoding/json, compared case-sensitively by callers. A duplicate key is visited twice.
//
// The text must be valid JSON; for anything else EachField returns ErrNotObject, possibly after some visits, and never reads out of
// bounds. It allocates only for keys with an escape or invalid UTF-8: key and raw share the object's memory and are valid until it is
// written to.
func EachField(object []byte, visit func(key string, raw []byte) bool) error {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return ErrNotObject
	}
	i = skipSpace(object, i+1)
	if i < len(object) && object[i] == '}' {
		return nil
	}
	for {
		start := i
		if i = skipString(object, i); i < 0 {
			return ErrNotObject
		}
		key := fieldName(object[start:i])
		if i = skipSpace(object, i); i >= len(object) || object[i] != ':' {
			return ErrNotObject
		}
		start = skipSpace(object, i+1)
		if i = skipValue(object, start); i < 0 {
			return ErrNotObject
		}
		if !visit(key, object[start:i]) {
			return nil
		}
		if i = skipSpace(object, i); i >= len(object) {
			return ErrNotObject
		}
		switch object[i] {
		case '}':
			return nil
		case ',':
			i = skipSpace(object, i+1)
		default:
			return ErrNotObject
		}
	}
}

// EachElement visits the elements of a JSON array in order until visit returns false. What EachField says of its text holds here too.
func EachElement(array []byte, visit func(raw []byte) bool) error {
	i := skipSpace(array, 0)
	if i >= len(array) || array[i] != '[' {
		return ErrNotArray
	}
	if i = skipSpace(array, i+1); i < len(array) && array[i] == ']' {
		return nil
	}
	for {
		start := i
		if i = skipValue(array, start); i < 0 {
			return ErrNotArray
		}
		if !visit(array[start:i]) {
			return nil
		}
		if i = skipSpace(array, i); i >= len(array) {
			return ErrNotArray
		}
		switch array[i] {
		case ']':
			return nil
		case ',':
			i = skipSpace(array, i+1)
		default:
			return ErrNotArray
		}
	}
}

// TextValue returns a JSON string as Go text, as it is. Lone surrogates and invalid UTF-8 become U+FFFD.
func TextValue(raw []byte) (value string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}

// StringValue returns a JSON string as Go text, trimmed as ECMAScript trims. It is not ok for any other JSON value and
// for a string that is blank. Lone surrogates and invalid UTF-8 become U+FFFD.
func StringValue(raw []byte) (value string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	value = TrimJS(unquote(raw))
	return value, value != ""
}

// NumberValue returns a finite JSON number. It is not ok for any other JSON value, including numbers in strings.
func NumberValue(raw []byte) (value float64, ok bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	value, err := strconv.ParseFloat(unsafe.String(&raw[0], len(raw)), 64)
	if err != nil || math.IsInf(value, 0) {
		return 0, false
	}
	return value, true
}

// TrimJS removes what ECMAScript counts as white space from both ends: U+FEFF goes, U+0085 stays.
func TrimJS(s string) string {
	if len(s) > 0 && s[0] > ' ' && s[0] < utf8.RuneSelf && s[len(s)-1] > ' ' && s[len(s)-1] < utf8.RuneSelf {
		return s
	}
	return strings.TrimFunc(s, isSpaceJS)
}

func isSpaceJS(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0x00A0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

func isTrue(raw []byte) bool { return string(raw) == "true" }

// fieldName unescapes a quoted key, borrowing the quoted bytes when they are the key already.
func fieldName(quoted []byte) string {
	plain := quoted[1 : len(quoted)-1]
	if len(plain) == 0 {
		return ""
	}
	if bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return unsafe.String(&plain[0], len(plain))
	}
	return unquote(quoted)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i, or -1.
func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for end := i + 1; ; end++ {
		quote := bytes.IndexByte(b[end:], '"')
		if quote < 0 {
			return -1
		}
		end += quote
		escapes := 0
		for end-1-escapes > i && b[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
	}
}

// skipValue returns the index after the value that begins at i, or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	start := i
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			if i == start {
				return -1
			}
			return i
		}
		i++
	}
	return -1
}

func skipNested(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// unquote returns the text of a JSON string that is known to be quoted.
func unquote(quoted []byte) string {
	plain := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain)
	}
	text := make([]byte, 0, len(plain))
	for i := 0; i < len(plain); {
		c := plain[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(plain[i:])
			text = utf8.AppendRune(text, r)
			i += size
		case c != '\\' || i+1 == len(plain):
			text = append(text, c)
			i++
		case plain[i+1] == 'u':
			r, size := escapedRune(plain[i:])
			text = utf8.AppendRune(text, r)
			i += size
		default:
			text = append(text, escapedByte(plain[i+1]))
			i += 2
		}
	}
	return string(text)
}

func escapedByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// escapedRune decodes a \uXXXX escape, or a surrogate pair of them, and returns the number of bytes read.
func escapedRune(b []byte) (r rune, size int) {
	first := hexRune(b)
	if first < 0 {
		return utf8.RuneError, min(len(b), 6)
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	if second := hexRune(b[6:]); second >= 0 {
		if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hexRune(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
