package console

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"time"
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

// appendText writes a text, of which what is not UTF-8 is replaced, without the escapes that only pages need.
func appendText(to []byte, text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text always marshals
	return append(to, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// appendReal writes a real so that it is read as the same one, and not as an integer; JSON has no word for what is infinite, but readers make it of this number.
func appendReal(to []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(to, "9e999"...)
	case math.IsInf(v, -1):
		return append(to, "-9e999"...)
	}
	text, _ := json.Marshal(v) // what is finite always marshals
	if to = append(to, text...); bytes.ContainsAny(text, ".e") {
		return to
	}
	return append(to, ".0"...)
}

// Text is a value of an answer for people: blobs in hexadecimal, nothing for NULL.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return hex.EncodeToString(v)
	case time.Time: // what the driver makes of columns declared as times, of which there are none in our files
		return v.Format(time.RFC3339Nano)
	}
	return textOf(value)
}

// AppendRow writes the values of a row as an array in JSON.
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
