package monitor

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// jsonText writes JSON as encode does with encoding/json, byte for byte, but without reflection.
type jsonText struct{ b []byte }

// open begins an object; each member follows with its name, and close ends it.
func (t *jsonText) open() { t.b = append(t.b, '{') }

func (t *jsonText) close() { t.b = append(t.b, '}') }

// name begins a member. Names of members need no escapes.
func (t *jsonText) name(name string) {
	if t.b[len(t.b)-1] != '{' {
		t.b = append(t.b, ',')
	}
	t.b = append(t.b, '"')
	t.b = append(t.b, name...)
	t.b = append(t.b, '"', ':')
}

func (t *jsonText) text(name, value string) {
	t.name(name)
	t.b = appendText(t.b, value)
}

// textIfAny leaves out an empty text.
func (t *jsonText) textIfAny(name, value string) {
	if value != "" {
		t.text(name, value)
	}
}

func (t *jsonText) integer(name string, value int64) {
	t.name(name)
	t.b = strconv.AppendInt(t.b, value, 10)
}

func (t *jsonText) integerIfAny(name string, value int64) {
	if value != 0 {
		t.integer(name, value)
	}
}

func (t *jsonText) number(name string, value float64) {
	t.name(name)
	t.b = appendFloat(t.b, value)
}

func (t *jsonText) yes(name string, value bool) {
	t.name(name)
	t.b = strconv.AppendBool(t.b, value)
}

// pointer writes a text, or null.
func pointer[T ~string](t *jsonText, name string, value *T) {
	t.name(name)
	if value == nil {
		t.b = append(t.b, "null"...)
		return
	}
	t.b = appendText(t.b, string(*value))
}

// texts writes a list of texts, or null.
func texts[T ~string](t *jsonText, name string, list []T) {
	t.name(name)
	elements(t, list, func(value T) { t.b = appendText(t.b, string(value)) })
}

// counts writes numbers by name, in the order of their names.
func counts[T ~string](t *jsonText, name string, numbers map[T]int64) {
	t.name(name)
	if numbers == nil {
		t.b = append(t.b, "null"...)
		return
	}
	t.b = append(t.b, '{')
	for i, key := range slices.Sorted(maps.Keys(numbers)) {
		if i > 0 {
			t.b = append(t.b, ',')
		}
		t.b = append(appendText(t.b, string(key)), ':')
		t.b = strconv.AppendInt(t.b, numbers[key], 10)
	}
	t.b = append(t.b, '}')
}

// elements writes a list, or null.
func elements[T any](t *jsonText, list []T, write func(T)) {
	if list == nil {
		t.b = append(t.b, "null"...)
		return
	}
	t.b = append(t.b, '[')
	for i, element := range list {
		if i > 0 {
			t.b = append(t.b, ',')
		}
		write(element)
	}
	t.b = append(t.b, ']')
}

// rest writes the members of an object that encoding/json encodes, after at least one member.
func (t *jsonText) rest(object any) error {
	text, err := encode(object)
	if err == nil && len(text) > len("{}") {
		t.b = append(append(t.b, ','), text[1:len(text)-1]...)
	}
	return err
}

// events writes a list of events, which are valid JSON without blanks.
func (t *jsonText) events(list []json.RawMessage) {
	elements(t, list, func(event json.RawMessage) { t.b = append(t.b, event...) })
}

// appendFloat writes a finite number.
func appendFloat(b []byte, value float64) []byte {
	format := byte('f')
	if magnitude := math.Abs(value); magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, value, format, -1, 64)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' { // e-09 is written e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// appendText writes a string with the escapes of encoding/json.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[start:i]...), '\\', 'u', '2', '0', '2', hex[r&0xF])
			start = i + size
		}
		i += size
	}
	return append(append(b, s[start:]...), '"')
}
