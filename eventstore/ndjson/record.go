package ndjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// field is a member of a record that an import reads. Keys are case-sensitive, unlike in encoding/json.
type field uint8

const (
	fieldOther field = iota
	fieldType
	fieldAgentID
	fieldTS
	fieldTimestampMs
	fieldTimestamp
	fieldData
	fieldID
	fieldSeq
	fieldHash
	fieldDataHash
	fieldCount
)

// fieldOf identifies a key, given with its quotes.
func fieldOf(key []byte) field {
	if bytes.IndexByte(key, '\\') >= 0 {
		s, _ := unquote(key)
		key = appendString(nil, s)
	}
	switch string(key) {
	case `"type"`:
		return fieldType
	case `"agentId"`:
		return fieldAgentID
	case `"ts"`:
		return fieldTS
	case `"timestampMs"`:
		return fieldTimestampMs
	case `"timestamp"`:
		return fieldTimestamp
	case `"data"`:
		return fieldData
	case `"id"`:
		return fieldID
	case `"seq"`:
		return fieldSeq
	case `"hash"`:
		return fieldHash
	case `"dataHash"`:
		return fieldDataHash
	}
	return fieldOther
}

// record is a JSON object taken apart at its top level. Nothing is copied: all slices are parts of the text.
type record struct {
	members []member
	last    [fieldCount]int // 1 + the index of the last member of that name, which counts; 0 if there is none
}

type member struct {
	field      field
	key, value []byte // raw text; the key with its quotes
	depth      int    // nesting depth of the value: 0 for a scalar, 1 for {} and []
}

// readRecord splits a text that must be one valid JSON object.
func readRecord(object []byte) record {
	r := record{members: make([]member, 0, 8)}
	for i := 1; ; {
		for object[i] != '"' {
			if object[i] == '}' {
				return r
			}
			i++
		}
		end := skipString(object, i)
		m := member{field: fieldOf(object[i:end]), key: object[i:end]}
		i = end
		for object[i] == ':' || isJSONSpace(object[i]) {
			i++
		}
		end, m.depth = skipValue(object, i)
		m.value = object[i:end]
		i = end
		r.members = append(r.members, m)
		r.last[m.field] = len(r.members)
	}
}

// value returns the value of a field, or nil.
func (r *record) value(f field) []byte {
	if r.last[f] == 0 {
		return nil
	}
	return r.members[r.last[f]-1].value
}

// has reports whether all of the fields are present.
func (r *record) has(fields ...field) bool {
	for _, f := range fields {
		if r.last[f] == 0 {
			return false
		}
	}
	return true
}

// skipValue returns where the value that begins at i ends, and how deep it is nested; a scalar is 0 deep. On invalid
// JSON the end is meaningless, but in bounds, and the depth is that of the brackets.
func skipValue(text []byte, i int) (end, depth int) {
	switch text[i] {
	case '"':
		return skipString(text, i), 0
	case '{', '[':
		return skipNested(text, i)
	}
	for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && !isJSONSpace(text[i]) {
		i++
	}
	return i, 0
}

func skipNested(text []byte, i int) (end, depth int) {
	open := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			open++
			depth = max(depth, open)
		case '}', ']':
			if open--; open == 0 {
				return i + 1, depth
			}
		}
		i++
	}
	return i, depth
}

func skipString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n
		backslashes := 0
		for text[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i + 1
		}
	}
	return i
}

func isJSONSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// unquote returns the text of a JSON string; ok is false for any other value, or none.
func unquote(value []byte) (s string, ok bool) {
	switch {
	case len(value) == 0 || value[0] != '"':
		return "", false
	case bytes.IndexByte(value, '\\') < 0:
		return string(value[1 : len(value)-1]), true
	}
	return s, json.Unmarshal(value, &s) == nil
}

// unquoteTrimmed is unquote with JavaScript space trimmed at both ends. Exact reports that the result, quoted again,
// is the same JSON value: nothing was trimmed, and no lone surrogate was lost to U+FFFD.
func unquoteTrimmed(value []byte, trim func(string) string) (s string, exact, ok bool) {
	full, ok := unquote(value)
	s = trim(full)
	lossy := strings.ContainsRune(full, utf8.RuneError) && bytes.IndexByte(value, '\\') >= 0
	return s, ok && s == full && !lossy, ok
}
