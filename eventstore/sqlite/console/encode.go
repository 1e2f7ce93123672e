package console

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// AppendJSON writes a value of an answer as JSON: integers with all their digits, blobs as text in hexadecimal.
func AppendJSON(to []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(to, "null"...)
	case int64:
		return strconv.AppendInt(to, v, 10)
	case float64:
		return appendReal(to, v)
	}
	return appendText(to, Text(value))
}

// JSONSize returns an upper bound of the bytes that AppendJSON writes for a value.
func JSONSize(value any) (size int) {
	const number, escaped = 32, len(`\u0001`)
	switch v := value.(type) {
	case string:
		for _, r := range v {
			switch {
			case r < ' ', r == '\u2028', r == '\u2029', r == utf8.RuneError:
				size += escaped
			case r == '"', r == '\\':
				size += 2
			default:
				size += utf8.RuneLen(r)
			}
		}
		return size + len(`""`)
	case []byte:
		return 2*len(v) + len(`""`)
	}
	return number
}

// appendText writes a text as JSON, replacing invalid UTF-8, without the escapes that only HTML needs. It writes in
// place: a text may be large, and six times as large as JSON.
func appendText(to []byte, text string) []byte {
	const hexadecimal = "0123456789abcdef"
	to = append(to, '"')
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				to = append(to, '\\', c)
			case c >= ' ':
				to = append(to, c)
			case strings.IndexByte("\b\f\n\r\t", c) >= 0:
				to = append(to, '\\', "btn?fr"[c-'\b'])
			default:
				to = append(to, '\\', 'u', '0', '0', hexadecimal[c>>4], hexadecimal[c&0xf])
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			to = append(to, `\ufffd`...)
		case r == '\u2028' || r == '\u2029': // JavaScript treats them as line breaks
			to = append(to, '\\', 'u', '2', '0', '2', hexadecimal[r&0xf])
		default:
			to = append(to, text[i:i+n]...)
		}
		i += n
	}
	return append(to, '"')
}

// appendReal writes a real so that it parses as the same real, and not as an integer; JSON has no infinity, but
// parsers read this number as one.
func appendReal(to []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(to, "9e999"...)
	case math.IsInf(v, -1):
		return append(to, "-9e999"...)
	}
	text, _ := json.Marshal(v) // a finite number always marshals
	if to = append(to, text...); bytes.ContainsAny(text, ".e") {
		return to
	}
	return append(to, ".0"...)
}

// Text formats a value for people: blobs in hexadecimal, nothing for NULL.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return hex.EncodeToString(v)
	case time.Time: // the driver returns it for columns declared as times; our files have none
		return v.Format(time.RFC3339Nano)
	}
	return textOf(value)
}

// AppendRow writes the values of a row as a JSON array.
func AppendRow(to []byte, values []any) []byte {
	to = append(to, '[')
	for i, v := range values {
		if i > 0 {
			to = append(to, ',')
		}
		to = AppendJSON(to, v)
	}
	return append(to, ']')
}
