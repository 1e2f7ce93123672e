package protocol

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"
)

// members yields the members of a JSON object in order, names decoded, values raw. text is valid JSON; anything but an
// object has no members.
func members(text []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		at := space(text, 0)
		if at == len(text) || text[at] != '{' {
			return
		}
		for at = space(text, at+1); at < len(text) && text[at] == '"'; {
			end := value(text, at)
			name := text[at:end]
			at = space(text, space(text, end)+1) // after the colon
			if end = value(text, at); end == at || !yield(textOf(name), text[at:end]) {
				return
			}
			if at = space(text, end); at < len(text) && text[at] == ',' {
				at = space(text, at+1)
			}
		}
	}
}

func items(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		at := space(text, 0)
		if at == len(text) || text[at] != '[' {
			return
		}
		for at = space(text, at+1); at < len(text) && text[at] != ']'; {
			end := value(text, at)
			if end == at || !yield(text[at:end]) {
				return
			}
			if at = space(text, end); at < len(text) && text[at] == ',' {
				at = space(text, at+1)
			}
		}
	}
}

// value returns the end of the JSON value that starts at at. It does not recurse.
func value(text []byte, at int) int {
	depth := 0
	for at < len(text) {
		switch text[at] {
		case '"':
			at = quoted(text, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
			at++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
			at++
			continue
		default:
			for at++; at < len(text) && strings.IndexByte(",:]} \t\r\n", text[at]) < 0; {
				at++
			}
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// quoted returns the end of the string that starts at at.
func quoted(text []byte, at int) int {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return min(at, len(text))
}

// textOf decodes a JSON string; anything else is "".
func textOf(literal []byte) string {
	if literal[0] != '"' {
		return ""
	}
	if bytes.IndexByte(literal, '\\') < 0 && utf8.Valid(literal) {
		return string(literal[1 : len(literal)-1])
	}
	var text string
	_ = json.Unmarshal(literal, &text) // decoding a JSON string cannot fail
	return text
}

// measure returns the depth and approximate number of values of a JSON text; empty objects and arrays may be
// miscounted.
func measure(text []byte) (depth, values int) {
	level := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = quoted(text, at) - 1
		case '{', '[':
			level++
			values++
			depth = max(depth, level)
		case '}', ']':
			level--
		case ',':
			values++
		}
	}
	return depth, values
}
